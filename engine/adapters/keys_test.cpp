#include "adapters/keys.h"

#include <gtest/gtest.h>

namespace sd {
namespace {

using enum AdapterRole;

TEST(AdapterKeys, every_spelling_of_a_role_is_known) {
    const std::pair<const char *, AdapterRole> cases[] = {{"m.lora_down.weight", down},
                                                          {"m.lora.down.weight", down},
                                                          {"m_lora.down.weight", down},
                                                          {"m.lora_A.weight", down},
                                                          {"m.lora_A.default.weight", down},
                                                          {"m.lora_A.my-style_2.weight", down},
                                                          {"m.lora_A", down},
                                                          {"m.lora_up.weight", up},
                                                          {"m.lora.up.weight", up},
                                                          {"m_lora.up.weight", up},
                                                          {"m.lora_B.weight", up},
                                                          {"m.lora_B.default.weight", up},
                                                          {"m.lora_B", up},
                                                          {"m.lora_mid.weight", mid},
                                                          {"m.alpha", alpha},
                                                          {"m.scale", AdapterRole::scale},
                                                          {"m.diff", difference},
                                                          {"m.diff_b", bias_difference},
                                                          {"m.w_norm", difference},
                                                          {"m.b_norm", bias_difference},
                                                          {"m.hada_w1_a", hada_w1_a},
                                                          {"m.hada_w2_b", hada_w2_b},
                                                          {"m.hada_t1", hada_t1},
                                                          {"m.lokr_w1", lokr_w1},
                                                          {"m.lokr_w2_b", lokr_w2_b},
                                                          {"m.lokr_t2", lokr_t2},
                                                          {"m.dora_scale", unsupported},
                                                          {"m.lora_B.bias", unsupported}};
    for (const auto & [name, role] : cases) {
        const auto key = parse_adapter_key(name);
        ASSERT_TRUE(key) << name;
        EXPECT_EQ(key->module, "m") << name;
        EXPECT_EQ(key->role, role) << name;
    }
}

TEST(AdapterKeys, other_names_are_none) {
    for (const char * name :
         {"m.weight", "m.bias", ".alpha", "alpha", "", "m.lora_A.a.b.weight", "lora_A.weight"})
        EXPECT_FALSE(parse_adapter_key(name)) << name;
}

TEST(AdapterKeys, processors_of_attention_are_left_out) {
    const auto key = parse_adapter_key("blocks.0.attn.processor.wq.lora_A.weight");
    ASSERT_TRUE(key);
    EXPECT_EQ(key->module, "blocks.0.attn.wq");
}

} // namespace
} // namespace sd
