"""The Wan 2.1 VAE for single pictures, at any width.

Modules are named as the tensors of published files are. With one frame a causal 3x3x3 convolution is a 3x3 one, its
last tap in time, so that is what is trained; `true_layout` puts it back among the taps nothing reads.
"""
import torch
import torch.nn.functional as F
from torch import nn

LATENT = 16

# What engines normalise latents with. It belongs to the format, not to the weights: see `normalise`.
MEAN = torch.tensor([-0.7571, -0.7089, -0.9113, 0.1075, -0.1745, 0.9653, -0.1517, 1.5508,
                     0.4134, -0.0715, 0.5517, -0.3632, -0.1922, -0.9497, 0.2503, -0.2921])
STD = torch.tensor([2.8184, 1.4541, 2.3275, 2.6558, 1.2196, 1.7708, 2.6052, 2.0743,
                    3.2687, 2.1526, 2.8652, 1.5579, 1.6382, 1.1253, 2.8251, 1.9160])


class Norm(nn.Module):
    """Root mean square over channels, at every place."""

    def __init__(self, channels):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(channels))

    def forward(self, x):
        wide = x.float()
        wide = wide * torch.rsqrt(wide.square().mean(1, keepdim=True) + 1e-12)
        return (wide * self.gamma.view(-1, 1, 1)).to(x.dtype)


def conv(into, out, side=3, gain=1.0, **options):
    made = nn.Conv2d(into, out, side, padding=side // 2 if "stride" not in options else 0, **options)
    nn.init.normal_(made.weight, std=gain / (into * side * side) ** 0.5)
    nn.init.zeros_(made.bias)
    return made


class Residual(nn.Module):
    def __init__(self, into, out):
        super().__init__()
        # The small second convolution makes a deep stack start close to the identity.
        self.residual = nn.ModuleList([Norm(into), nn.SiLU(), conv(into, out), Norm(out), nn.SiLU(), nn.Identity(),
                                       conv(out, out, gain=0.3)])
        if into != out:
            self.shortcut = conv(into, out, 1)

    def forward(self, x):
        first, act, conv1, second, _, _, conv2 = self.residual
        y = conv2(act(second(conv1(act(first(x))))))
        return y + (self.shortcut(x) if hasattr(self, "shortcut") else x)


class Attention(nn.Module):
    """One head over all places."""

    def __init__(self, channels):
        super().__init__()
        self.norm = Norm(channels)
        self.to_qkv = conv(channels, 3 * channels, 1)
        self.proj = conv(channels, channels, 1, gain=0.3)

    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = self.to_qkv(self.norm(x)).reshape(b, 3, c, h * w).transpose(2, 3).unbind(1)
        weights = torch.softmax((q @ k.transpose(1, 2)).float() * c ** -0.5, -1).to(v.dtype)
        return x + self.proj((weights @ v).transpose(1, 2).reshape(b, c, h, w))


class Down(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.resample = nn.ModuleList([nn.Identity(), conv(channels, channels, stride=2)])

    def forward(self, x):
        return self.resample[1](F.pad(x, (0, 1, 0, 1)))


class Up(nn.Module):
    def __init__(self, into, out):
        super().__init__()
        self.resample = nn.ModuleList([nn.Identity(), conv(into, out)])

    def forward(self, x):
        return self.resample[1](F.interpolate(x, scale_factor=2.0, mode="nearest"))


def middle(channels):
    return nn.ModuleList([Residual(channels, channels), Attention(channels), Residual(channels, channels)])


class Encoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        a, b, c = dim, 2 * dim, 4 * dim
        self.conv1 = conv(3, a)
        self.downsamples = nn.ModuleList([
            Residual(a, a), Residual(a, a), Down(a), Residual(a, b), Residual(b, b), Down(b),
            Residual(b, c), Residual(c, c), Down(c), Residual(c, c), Residual(c, c)])
        self.middle = middle(c)
        self.head = nn.ModuleList([Norm(c), nn.SiLU(), conv(c, 2 * LATENT)])

    def forward(self, x):
        x = self.conv1(x)
        for layer in [*self.downsamples, *self.middle, *self.head]:
            x = layer(x)
        return x


class Decoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        a, b, c = dim, 2 * dim, 4 * dim
        self.conv1 = conv(LATENT, c)
        self.middle = middle(c)
        self.upsamples = nn.ModuleList([
            Residual(c, c), Residual(c, c), Residual(c, c), Up(c, b), Residual(b, c), Residual(c, c), Residual(c, c),
            Up(c, b), Residual(b, b), Residual(b, b), Residual(b, b), Up(b, a),
            Residual(a, a), Residual(a, a), Residual(a, a)])
        self.head = nn.ModuleList([Norm(a), nn.SiLU(), conv(a, 3)])

    def forward(self, z):
        x = self.conv1(z)
        for layer in [*self.middle, *self.upsamples, *self.head]:
            x = layer(x)
        return x


class WanVae(nn.Module):
    """Pictures are [batch, 3, H, W] from -1 to 1, latents [batch, 16, H / 8, W / 8]."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.encoder, self.decoder = Encoder(dim), Decoder(dim)
        self.conv1, self.conv2 = conv(2 * LATENT, 2 * LATENT, 1), conv(LATENT, LATENT, 1)
        with torch.no_grad():
            self.conv1.bias[LATENT:] = -5.0  # begins with hardly any noise: reconstructs from the first step on

    def encode(self, pictures):
        """Mean and logarithm of the variance."""
        return self.conv1(self.encoder(pictures)).float().chunk(2, 1)

    def decode(self, latents):
        return self.decoder(self.conv2(latents)).float()


@torch.no_grad()
def normalise(vae, mean, std):
    """Makes latents of channel statistics mean, std come out with the format's MEAN and STD, and read back so.

    Only the two 1x1 convolutions next to the latents change; pictures stay what they are.
    """
    scale = STD / std
    vae.conv1.weight[:LATENT] *= scale.view(-1, 1, 1, 1)
    vae.conv1.bias[:LATENT] = (vae.conv1.bias[:LATENT] - mean) * scale + MEAN
    columns = vae.conv2.weight[:, :, 0, 0].clone()
    vae.conv2.bias += columns @ (mean - MEAN * std / STD)
    vae.conv2.weight[:, :, 0, 0] = columns * (std / STD)


def true_layout(vae):
    """Name -> tensor as published files have them: convolutions with three dimensions, norms as [C, 1, 1(, 1)].

    The convolutions in time of the resamplers, which pictures of one frame never reach, are zeros.
    """
    out = {}
    for name, value in vae.state_dict().items():
        value = value.detach().float()
        if name.endswith(".gamma"):
            value = value.view(-1, 1, 1) if name.endswith("middle.1.norm.gamma") else value.view(-1, 1, 1, 1)
        elif value.dim() == 4 and ".resample." not in name and ".middle.1." not in name:
            taps = torch.zeros(*value.shape[:2], 1 if value.shape[-1] == 1 else 3, *value.shape[2:])
            taps[:, :, -1] = value
            value = taps
        out[name] = value
    dim = vae.dim
    times = {"encoder.downsamples.5": (2 * dim, 2 * dim), "encoder.downsamples.8": (4 * dim, 4 * dim),
             "decoder.upsamples.3": (8 * dim, 4 * dim), "decoder.upsamples.7": (8 * dim, 4 * dim)}
    for name, (rows, columns) in times.items():
        out[name + ".time_conv.weight"] = torch.zeros(rows, columns, 3, 1, 1)
        out[name + ".time_conv.bias"] = torch.zeros(rows)
    return out
