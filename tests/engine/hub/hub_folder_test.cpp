// Tests that a folder of the Hugging Face hub is the model of the GGUF file that it was made of, and that
// each fault of a folder is one Error(model) that names it. BITNET_HUB_FOLDERS has folders that
// tests/support/make_hub_folder.py made, beside the GGUF files of the same numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/engine.h"
#include "engine/open_model.h"

namespace bitnet {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kFolders = BITNET_HUB_FOLDERS;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path& path, std::string_view bytes) {
  fs::remove(path);
  std::ofstream(path, std::ios::binary) << bytes;
}

class Hub : public testing::TestWithParam<const char*> {
 protected:
  std::string folder() const { return kFolders + "/" + GetParam(); }
};

// Of a tensor, what counts: behind the scale of I2_S lie bytes that mean nothing.
std::string_view bytes_of(const GgufTensor& t) {
  const size_t unused = t.type == TensorType::i2_s ? 28 : 0;
  return {reinterpret_cast<const char*>(t.data.data()), t.data.size() - unused};
}

TEST_P(Hub, AFolderHasTheTensorsOfItsGguf) {
  const auto hub = open_model(folder()), gguf = open_model(folder() + ".gguf");
  hub->read_weights();
  EXPECT_EQ(hub->tensors().size(), gguf->tensors().size());
  const bool pairs = gguf->get_string("general.architecture") == "llama";
  for (const GgufTensor& wanted : gguf->tensors()) {
    const GgufTensor* found = hub->find_tensor(wanted.name);
    ASSERT_NE(found, nullptr) << wanted.name;
    EXPECT_EQ(found->type, wanted.type) << wanted.name;
    EXPECT_EQ(found->shape, wanted.shape) << wanted.name;
    ASSERT_EQ(found->data.size(), wanted.data.size()) << wanted.name;
    const bool reordered = pairs && (wanted.name.find("attn_q.") != std::string::npos ||
                                     wanted.name.find("attn_k.") != std::string::npos);
    EXPECT_EQ(bytes_of(*found) == bytes_of(wanted), !reordered) << wanted.name;
  }
}

TEST_P(Hub, AFolderHasTheMetadataOfItsGguf) {
  const auto hub = open_model(folder()), gguf = open_model(folder() + ".gguf");
  const ModelInfo a = read_model_info(*hub), b = read_model_info(*gguf);
  EXPECT_EQ(a.architecture, b.architecture);
  EXPECT_EQ(a.n_vocab, b.n_vocab);
  EXPECT_EQ(a.n_ctx_train, b.n_ctx_train);
  EXPECT_EQ(a.n_embd, b.n_embd);
  EXPECT_EQ(a.n_layer, b.n_layer);
  EXPECT_EQ(a.n_ff, b.n_ff);
  EXPECT_EQ(a.n_head, b.n_head);
  EXPECT_EQ(a.n_head_kv, b.n_head_kv);
  EXPECT_EQ(a.head_dim, b.head_dim);
  EXPECT_EQ(a.tied_head, b.tied_head);
  EXPECT_EQ(a.activation, b.activation);
  EXPECT_EQ(a.rope, b.rope);
  EXPECT_TRUE(a.extra_tensors.empty());
  EXPECT_EQ(a.name, GetParam());
  for (const char* key : {"tokenizer.ggml.tokens", "tokenizer.ggml.merges"})
    EXPECT_EQ(hub->find_strings(key), gguf->find_strings(key)) << key;
  EXPECT_EQ(hub->find_ints("tokenizer.ggml.token_type"), gguf->find_ints("tokenizer.ggml.token_type"));
  for (const char* key : {"tokenizer.ggml.model", "tokenizer.chat_template"})
    EXPECT_EQ(hub->find_string(key), gguf->find_string(key)) << key;
  for (const char* key : {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id"})
    EXPECT_EQ(hub->find_u32(key), gguf->find_u32(key)) << key;
  EXPECT_EQ(hub->find_bool("tokenizer.ggml.add_bos_token"), gguf->find_bool("tokenizer.ggml.add_bos_token"));
}

TEST_P(Hub, AFolderGivesTheLogitsOfItsGguf) {
  const auto logits = [](const std::string& path) {
    EngineOptions options;
    options.device = "cpu";
    const auto file = open_model(path);
    const auto engine = Engine::open(*file, options);
    const auto session = Session::create(*engine, 0);
    const std::vector<int32_t> tokens = {5, 300, 7, 11, 260, 1, 90};
    session->sync(tokens);
    return std::vector<float>(session->logits().begin(), session->logits().end());
  };
  EXPECT_EQ(logits(folder()), logits(folder() + ".gguf"));
}

INSTANTIATE_TEST_SUITE_P(Folders, Hub, testing::Values("packed", "divided", "master", "pieces", "llama"),
                         [](const auto& info) { return std::string(info.param); });

// A copy of a folder that a test may change.
class HubFaults : public testing::Test {
 protected:
  HubFaults() {
    std::string name = testing::TempDir() + "hub-XXXXXX";
    top_ = mkdtemp(name.data());
    again();
  }
  ~HubFaults() override { fs::remove_all(top_); }

  void again(const char* from = "divided") {
    fs::remove_all(at());
    fs::copy(kFolders + "/" + from, at());
  }
  fs::path at(const std::string& name = "") const {
    return name.empty() ? top_ / "model" : top_ / "model" / name;
  }

  // The message of the error that opening and reading it gives, and the good folder again.
  std::string fault(const char* next = "divided") {
    std::string message;
    try {
      const auto file = open_model(at().string());
      read_model_info(*file);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::model) << e.what();
      message = e.what();
      EXPECT_THAT(message, AllOf(HasSubstr(top_.string()), Not(HasSubstr("\n"))));
    }
    again(next);
    return message;
  }

  // After a change of a JSON file.
  std::string after(const std::string& name, const std::function<void(json&)>& change) {
    json value = json::parse(read(at(name)));
    change(value);
    write(at(name), value.dump());
    return fault();
  }
  std::string of_config(const std::string& name, const json& value) {
    return after("config.json", [&](json& c) { c[name] = value; });
  }

  static std::string file_of(uint64_t length, std::string_view header, std::string_view data = "") {
    std::string bytes(sizeof length, '\0');
    std::memcpy(bytes.data(), &length, sizeof length);
    return bytes.append(header).append(data);
  }
  std::string of_header(std::string_view header, std::string_view data = "") {
    write(at("model.safetensors"), file_of(header.size(), header, data));
    return fault();
  }
  // After a change of the header of the good file; the data stays.
  std::string after_header(const std::function<void(json&)>& change) {
    const std::string whole = read(at("model.safetensors"));
    uint64_t length = 0;
    std::memcpy(&length, whole.data(), sizeof length);
    json header = json::parse(whole.substr(sizeof length, length));
    change(header);
    return of_header(header.dump(), std::string_view(whole).substr(sizeof length + length));
  }
  // After a change of the bytes of one tensor.
  std::string after_bytes(const std::string& tensor, std::string_view bytes) {
    std::string whole = read(at("model.safetensors"));
    uint64_t length = 0;
    std::memcpy(&length, whole.data(), sizeof length);
    const json header = json::parse(whole.substr(sizeof length, length));
    whole.replace(sizeof length + length + header[tensor]["data_offsets"][0].get<size_t>(), bytes.size(),
                  bytes);
    write(at("model.safetensors"), whole);
    return fault();
  }

  fs::path top_;
};

constexpr const char* kNorm = "model.norm.weight";
constexpr const char* kDown = "model.layers.0.mlp.down_proj.weight";

TEST_F(HubFaults, TheFoldersAreFine) {
  EXPECT_EQ(fault("packed"), "");
  EXPECT_EQ(fault(), "");
}

TEST_F(HubFaults, HeadersThatAreNone) {
  const auto bytes = [&](std::string_view whole) {
    write(at("model.safetensors"), whole);
    return fault();
  };
  EXPECT_THAT(bytes(""), HasSubstr("empty file"));
  EXPECT_THAT(bytes("1234567"), HasSubstr("7 bytes"));
  EXPECT_THAT(bytes(file_of(100, "{}")), HasSubstr("header: wanted 100 bytes, got 2"));
  EXPECT_THAT(bytes(file_of(~uint64_t{0}, "{}")), HasSubstr("header: wanted"));
  EXPECT_THAT(bytes(file_of(uint64_t{1} << 63, "{}")), HasSubstr("header: wanted"));
  write(at("model.safetensors"), file_of(uint64_t{2} << 30, "{}"));
  fs::resize_file(at("model.safetensors"), uint64_t{3} << 30);  // of nothing, which takes no disk
  EXPECT_THAT(fault(), HasSubstr("header: wanted at most 8388608 bytes, got 2147483648"));
  EXPECT_THAT(of_header(""), HasSubstr("begin with {"));
  EXPECT_THAT(of_header("[]"), HasSubstr("begin with {"));
  EXPECT_THAT(of_header("{"), HasSubstr("wanted JSON"));
  EXPECT_THAT(of_header("{\"\x1b[2J"), AllOf(HasSubstr("wanted JSON"), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(of_header("{\"a\":" + std::string(10000, '[')), HasSubstr("nested"));
  EXPECT_THAT(of_header("{\"a\":[" + std::string(600000, ',')), HasSubstr("values"));
  EXPECT_THAT(of_header("{}"), HasSubstr("without any"));
  EXPECT_THAT(of_header(R"({"__metadata__":{}})"), HasSubstr("without any"));
  EXPECT_THAT(of_header(R"({"a":3})"), HasSubstr("tensor a: wanted an object"));
  const std::string one = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_THAT(of_header("{" + one + "," + one + "}", "1234"), HasSubstr("\"a\" twice"));
}

TEST_F(HubFaults, TensorsThatAreNone) {
  const auto fields = [&](const char* name, const json& value) {
    return after_header([&](json& h) { h[kNorm][name] = value; });
  };
  for (const char* name : {"dtype", "shape", "data_offsets"}) {
    EXPECT_THAT(after_header([&](json& h) { h[kNorm].erase(name); }),
                AllOf(HasSubstr(kNorm), HasSubstr(name)));
    EXPECT_THAT(fields(name, 7), AllOf(HasSubstr(kNorm), HasSubstr(name)));
  }
  EXPECT_THAT(fields("dtype", "F7"), HasSubstr("\"F7\" is not known"));
  EXPECT_THAT(fields("dtype", "F32"), HasSubstr("wanted 1024 bytes"));
  for (const json& value : {json(-1), json(0.5), json("x"), json(nullptr)})
    EXPECT_THAT(fields("shape", json::array({value})), HasSubstr("shape: wanted a number"));
  EXPECT_THAT(fields("shape", json::array({0})), HasSubstr("at least 1"));
  EXPECT_THAT(fields("shape", json::array({uint64_t{1} << 63, 4})), HasSubstr("2^64"));
  EXPECT_THAT(fields("shape", json::array({1, 1, 1, 1, 1, 1, 1, 1, 256})), HasSubstr("0 to 8 numbers"));
  EXPECT_THAT(fields("data_offsets", json::array({0})), HasSubstr("2 to 2 numbers"));
  EXPECT_THAT(fields("data_offsets", json::array({9, 1})), HasSubstr("wanted a range"));
  EXPECT_THAT(fields("data_offsets", json::array({0, ~uint64_t{0}})), HasSubstr("wanted a range"));
  EXPECT_THAT(fields("data_offsets", json::array({~uint64_t{0}, ~uint64_t{0}})), HasSubstr("wanted a range"));
  EXPECT_THAT(fields("data_offsets", json::array({0, 512})),
              HasSubstr("where the one before it ends"));  // over another
  EXPECT_THAT(after_header([](json& h) { h.erase("model.layers.0.input_layernorm.weight"); }),
              HasSubstr("where the one before it ends"));
  for (const char* name : {"", "a\x1b[2J", "a\nb", "\u202ex"})
    EXPECT_THAT(after_header([&](json& h) { h[name] = h[kNorm], h.erase(kNorm); }),
                HasSubstr("name of a tensor"));
  const std::string whole = read(at("model.safetensors"));
  for (const size_t n : {size_t{1}, size_t{100}, whole.size() / 2}) {
    write(at("model.safetensors"), whole.substr(0, whole.size() - n));
    EXPECT_THAT(fault(), HasSubstr("complete"));
  }
  write(at("model.safetensors"), whole + "x");
  EXPECT_THAT(fault(), HasSubstr("end of the file"));
}

TEST_F(HubFaults, WeightsThatAreNone) {
  const auto renamed = [&](const std::string& from, const std::string& to) {
    return after_header([&](json& h) { h[to] = h[from], h.erase(from); });
  };
  EXPECT_THAT(renamed(std::string(kDown) + "_scale", "other"), HasSubstr("wanted weight_scale"));
  EXPECT_THAT(renamed(kDown, "other"), HasSubstr("blk.0.ffn_down.weight is missing"));
  EXPECT_THAT(renamed("model.embed_tokens.weight", "other"), HasSubstr("embed_tokens.weight is missing"));
  EXPECT_THAT(renamed(kNorm, "model.layers.00.input_layernorm.weight"),
              HasSubstr("output_norm.weight is missing"));
  const auto dtype = [&](const char* tensor, const char* name, const json& shape) {
    return after_header([&](json& h) { h[tensor]["dtype"] = name, h[tensor]["shape"] = shape; });
  };
  EXPECT_THAT(dtype(kNorm, "I16", json::array({256})), HasSubstr("wanted BF16, F16 or F32, got I16"));
  EXPECT_THAT(dtype(kNorm, "F8_E4M3", json::array({512})), HasSubstr("got F8_E4M3"));
  EXPECT_THAT(dtype(kNorm, "BF16", json::array({128, 2})),
              HasSubstr("output_norm.weight has shape [2, 128]"));
  EXPECT_THAT(dtype(kNorm, "BF16", json::array({2, 64, 2})), HasSubstr("1 or 2 dimensions"));
  EXPECT_THAT(dtype(kDown, "I8", json::array({64, 384})), HasSubstr("wanted packed U8"));
  EXPECT_THAT(dtype(kDown, "U8", json::array({128, 192})), HasSubstr("multiple of 128"));
  EXPECT_THAT(dtype(kDown, "U8", json::array({384, 64})), HasSubstr("multiple of 128"));
  EXPECT_THAT(dtype(kDown, "F16", json::array({96, 128})), HasSubstr("packed U8 beside weight_scale"));
  EXPECT_THAT(dtype("model.layers.0.mlp.down_proj.weight_scale", "I16", json::array({1})),
              HasSubstr("weight_scale: wanted one"));
  for (const char* scale :
       {"\0\0", "\x80\x7f", "\xc0\x7f", "\x80\xbf", "\1\0"})  // 0, inf, NaN, -1, too small
    EXPECT_THAT(after_bytes(std::string(kDown) + "_scale", {scale, 2}),
                HasSubstr("weight_scale: wanted a number"));
  EXPECT_THAT(after_bytes(kNorm, {"\xc0\x7f", 2}), AllOf(HasSubstr("output_norm.weight"), HasSubstr("nan")));
  again("master");
  EXPECT_THAT(after_bytes(kDown, {"\xc0\x7f", 2}), AllOf(HasSubstr(kDown), HasSubstr("NaN")));
}

TEST_F(HubFaults, ConfigurationsThatCannotBeRun) {
  write(at("config.json"), "3");
  EXPECT_THAT(fault(), HasSubstr("wanted an object"));
  write(at("config.json"), std::string(2 << 20, ' '));
  EXPECT_THAT(fault(), HasSubstr("more than"));
  for (const char* name : {"architectures", "hidden_size", "num_hidden_layers", "num_attention_heads",
                           "vocab_size", "intermediate_size", "max_position_embeddings"})
    EXPECT_THAT(after("config.json", [&](json& c) { c.erase(name); }), HasSubstr(name));
  for (const json& value : {json(-1), json(1.5), json("x"), json(uint64_t{1} << 32), json::array({1})})
    EXPECT_THAT(of_config("hidden_size", value), HasSubstr("hidden_size: wanted a number"));
  EXPECT_THAT(of_config("num_attention_heads", 0), HasSubstr("num_attention_heads"));
  EXPECT_THAT(of_config("head_dim", 0xFFFFFFFFU), HasSubstr("features"));
  EXPECT_THAT(of_config("architectures", json::array({"MixtralForCausalLM"})),
              AllOf(HasSubstr("Mixtral"), HasSubstr("BitNet")));
  EXPECT_THAT(of_config("hidden_act", "gelu"), HasSubstr("gelu"));
  EXPECT_THAT(of_config("use_sliding_window", true), HasSubstr("use_sliding_window"));
  EXPECT_THAT(of_config("rope_scaling", {{"rope_type", "longrope"}}), HasSubstr("longrope"));
  EXPECT_THAT(of_config("rope_scaling", {{"type", "linear"}}), HasSubstr("rope_scaling.factor"));
  EXPECT_THAT(of_config("rope_theta", "x"), HasSubstr("rope_theta"));
  EXPECT_THAT(of_config("vocab_size", 701), HasSubstr("700"));
  const auto quantised = [&](const char* name, const json& value) {
    return after("config.json", [&](json& c) { c["quantization_config"][name] = value; });
  };
  EXPECT_THAT(quantised("quant_method", "gptq"),
              HasSubstr("quantization_config.quant_method: wanted bitnet"));
  EXPECT_THAT(quantised("linear_class", "other"), HasSubstr("autobitlinear"));
  EXPECT_THAT(quantised("use_rms_norm", true), HasSubstr("use_rms_norm"));
  EXPECT_THAT(quantised("modules_to_not_convert", json::array({"mlp"})),
              HasSubstr("wanted BF16, F16 or F32, got U8"));
}

TEST_F(HubFaults, VocabulariesThatAreNone) {
  const auto model = [&](const char* name, const json& value) {
    return after("tokenizer.json", [&](json& t) { t["model"][name] = value; });
  };
  EXPECT_THAT(model("type", "Unigram"), HasSubstr("Unigram"));
  EXPECT_THAT(model("byte_fallback", true), HasSubstr("neither or both"));
  EXPECT_THAT(model("vocab", json::array()), HasSubstr("model.vocab"));
  for (const json& id : {json(700), json(-1), json("x"), json(uint64_t{1} << 40)})
    EXPECT_THAT(model("vocab", {{"a", id}}), HasSubstr("wanted an id of the 700 rows"));
  EXPECT_THAT(model("vocab", {{"a", 1}, {"b", 1}}), HasSubstr("which \"a\" has"));
  EXPECT_THAT(model("merges", 1), HasSubstr("model.merges"));
  EXPECT_THAT(model("merges", json::array({json::array({"a", "b", "c"})})),
              HasSubstr("wanted a text or two"));
  EXPECT_THAT(after("tokenizer.json", [](json& t) { t.erase("model"); }), HasSubstr("model: wanted it"));
  EXPECT_THAT(after("tokenizer.json", [](json& t) { t["added_tokens"][0].erase("content"); }),
              HasSubstr("added_tokens[0].content"));
  EXPECT_THAT(after("generation_config.json",
                    [](json& g) {
                      g["eos_token_id"] = json::array({1, 700});
                    }),
              HasSubstr("eos_token_id"));
  EXPECT_THAT(after("tokenizer_config.json", [](json& t) { t["chat_template"] = 3; }),
              HasSubstr("chat_template"));
}

TEST_F(HubFaults, FilesThatAreMissingOrElsewhere) {
  fs::remove(at("config.json"));
  EXPECT_THAT(fault(), HasSubstr("name the .gguf file in it"));
  fs::remove(at("tokenizer.json"));
  EXPECT_THAT(fault(), HasSubstr("tokenizer.json is missing"));
  fs::remove(at("model.safetensors"));
  EXPECT_THAT(fault(), HasSubstr("wanted model.safetensors or"));
  fs::remove(at("config.json"));
  ASSERT_EQ(mkfifo(at("config.json").c_str(), 0600), 0);
  EXPECT_THAT(fault(), HasSubstr("pipe"));
  fs::rename(at("config.json"), top_ / "config.json");
  fs::create_symlink("../config.json", at("config.json"));
  EXPECT_THAT(fault(), HasSubstr("a link that leads out of it"));
  fs::remove(at("config.json"));
  fs::create_symlink("nowhere", at("config.json"));
  EXPECT_THAT(fault(), HasSubstr("a link that leads out of it or nowhere"));
  fs::rename(at("model.safetensors"), at("here"));
  fs::create_symlink("here", at("model.safetensors"));
  EXPECT_EQ(fault(), "");
}

// It costs much memory to read one, which a folder without weights is not worth.
TEST_F(HubFaults, ATokenizerIsReadOnceTheWeightsSayHowLargeItMayBe) {
  write(at("tokenizer.json"), "no JSON");
  EXPECT_THAT(fault(), AllOf(HasSubstr("tokenizer.json"), HasSubstr("not JSON")));
  write(at("tokenizer.json"), "no JSON");
  fs::remove(at("model.safetensors"));
  EXPECT_THAT(fault(), HasSubstr("wanted model.safetensors or"));
  for (const char* name : {"config.json", "tokenizer.json"}) {
    write(at(name), "null");
    EXPECT_THAT(fault(), AllOf(HasSubstr(name), HasSubstr("object")));
  }
  EXPECT_THAT(after("tokenizer.json", [](json& t) { t["model"]["merges"] = json(150'000, "a b"); }),
              AllOf(HasSubstr("tokenizer.json"), HasSubstr("values")));
}

TEST_F(HubFaults, WhatTheWeightsAreIsKnownWithoutATokenizer) {
  const auto memory = [&] {
    const auto file = open_weights(at().string());
    return std::pair(read_model_info(*file).n_vocab, plan_memory(*file, 16).total());
  };
  const auto file = open_model(at().string());
  const std::pair wanted(read_model_info(*file).n_vocab, plan_memory(*file, 16).total());
  write(at("tokenizer.json"), "no JSON");
  EXPECT_EQ(memory(), wanted);
}

TEST_F(HubFaults, ShardsThatDoNotFitTheIndex) {
  const auto map = [&](const std::string& tensor, const json& file) {
    again("packed");
    return after("model.safetensors.index.json", [&](json& i) { i["weight_map"][tensor] = file; });
  };
  const std::string first = "model-00001-of-00002.safetensors", second = "model-00002-of-00002.safetensors";
  for (const char* name : {"../x.safetensors", "/etc/passwd", "config.json", "", "a/b.safetensors"})
    EXPECT_THAT(map("x", name), HasSubstr("wanted the name of a .safetensors file"));
  EXPECT_THAT(map("x", 3), HasSubstr("wanted the name of a .safetensors file"));
  EXPECT_THAT(map("x", "other.safetensors"), HasSubstr("this shard is missing"));
  EXPECT_THAT(map("x", first), HasSubstr("tensor x is missing"));
  again("packed");
  EXPECT_THAT(after("model.safetensors.index.json", [](json& i) { i.erase("weight_map"); }),
              HasSubstr("weight_map"));
  again("packed");
  fs::copy_file(at(first), at(second), fs::copy_options::overwrite_existing);
  EXPECT_THAT(after("model.safetensors.index.json",
                    [&](json& i) {
                      json both;
                      for (const auto& [name, file] : i["weight_map"].items())
                        if (file == first) both[name] = file;
                      both.begin().value() = second;
                      i["weight_map"] = both;
                    }),
              HasSubstr("got it twice"));
}

TEST_F(HubFaults, TheHubsCacheIsAFolderOfLinks) {
  const fs::path cache = top_ / "models--owner--Name", snapshot = cache / "snapshots" / "0123";
  fs::create_directories(snapshot);
  fs::create_directories(cache / "blobs");
  for (const auto& entry : fs::directory_iterator(at())) {
    const std::string name = entry.path().filename().string();
    fs::copy_file(entry.path(), cache / "blobs" / ("blob-" + name));
    fs::create_symlink("../../blobs/blob-" + name, snapshot / name);
  }
  EXPECT_EQ(read_model_info(*open_model(snapshot.string())).name, "Name");
}

TEST_F(HubFaults, TheFingerprintIsOfAllFiles) {
  const auto fingerprint = [&] { return fingerprint_of(*open_model(at().string()), {}); };
  const std::string before = fingerprint();
  EXPECT_EQ(fingerprint(), before);
  for (const char* name :
       {"config.json", "tokenizer_config.json", "generation_config.json", "tokenizer.json"}) {
    write(at(name), read(at(name)) + " ");
    EXPECT_NE(fingerprint(), before) << name;
    again();
    EXPECT_EQ(fingerprint(), before);
  }
  std::string weights = read(at("model.safetensors"));
  weights.back() ^= 1;
  write(at("model.safetensors"), weights);
  EXPECT_NE(fingerprint(), before);
}

TEST_F(HubFaults, OptionalFilesAreRead) {
  fs::remove(at("tokenizer_config.json"));
  fs::remove(at("generation_config.json"));
  const auto plain = open_model(at().string());
  EXPECT_EQ(plain->find("tokenizer.chat_template"), nullptr);
  EXPECT_EQ(plain->find_u32("tokenizer.ggml.eos_token_id"), 696U);
  again();
  write(at("chat_template.jinja"), "{{ 'x' }}");
  write(
      at("generation_config.json"),
      R"({"do_sample":true,"temperature":0.5,"top_k":7,"top_p":0.25,"repetition_penalty":2,"eos_token_id":[5,6]})");
  const auto file = open_model(at().string());
  EXPECT_EQ(file->find_string("tokenizer.chat_template"), "{{ 'x' }}");
  EXPECT_EQ(file->find_f32("general.sampling.temp"), 0.5F);
  EXPECT_EQ(file->find_f32("general.sampling.top_k"), 7.0F);
  EXPECT_EQ(file->find_f32("general.sampling.penalty_repeat"), 2.0F);
  EXPECT_EQ(file->find_ints("tokenizer.ggml.eos_token_ids"), (std::vector<int32_t>{696, 5, 6}));
}

TEST_F(HubFaults, LongContextsAreStretchedAsTheConfigurationSays) {
  again("llama");
  json config = json::parse(read(at("config.json")));
  config["rope_scaling"] = {{"rope_type", "llama3"},
                            {"factor", 8.0},
                            {"low_freq_factor", 1.0},
                            {"high_freq_factor", 4.0},
                            {"original_max_position_embeddings", 8192}};
  write(at("config.json"), config.dump());
  const auto file = open_model(at().string());
  file->read_weights();
  const GgufTensor* freqs = file->find_tensor("rope_freqs.weight");
  ASSERT_NE(freqs, nullptr);
  const auto* factors = reinterpret_cast<const float*>(freqs->data.data());
  const uint64_t n = freqs->shape[0];
  EXPECT_EQ(factors[0], 1.0F);
  EXPECT_EQ(factors[n - 1], 8.0F);
  for (uint64_t i = 1; i < n; ++i) EXPECT_GE(factors[i], factors[i - 1]);
  EXPECT_EQ(file->find_bool("llama.rope.interleaved"), false);
}

}  // namespace
}  // namespace bitnet
