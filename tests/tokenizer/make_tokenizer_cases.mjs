// Writes tests/tokenizer/golden/: two small vocabularies, and what other programs make of many texts with them.
//
//     npm install @anush008/tokenizers@0.6.0 @agnai/sentencepiece-js@1.1.1     (anywhere)
//     cd THERE && node .../tests/tokenizer/make_tokenizer_cases.mjs .../tests/tokenizer/golden
//
// The ids are not ours: those of the byte-level vocabulary, of Gemma 4's kind and of Phi-3's come from Hugging
// Face's tokenizers 0.22.2 (the Rust library, in @anush008/tokenizers), set up as the tokenizer.json of a model of
// each kind is; those of the others from Google's SentencePiece (compiled to WebAssembly, in
// @agnai/sentencepiece-js), which reads a model file that we write here. Neither takes bytes that are not UTF-8, so
// a text with such bytes is given to them in parts, and each of these bytes becomes its own token.
//
// The vocabularies are trained here on the texts themselves, so they are free, and the same run gives the same.
import fs from 'fs';
import os from 'os';
import path from 'path';
import {createRequire} from 'module';

const require = createRequire(path.join(process.cwd(), 'x.js'));
const {Tokenizer} = require('@anush008/tokenizers');
const {SentencePieceProcessor} = require('@agnai/sentencepiece-js');
const FOLDER = process.argv[2];

// ---- The texts

const SENTENCES = [
  'Hello world', ' Hello world', 'Hello World', ' Hello World!', 'Hello, y\'all! How are you 😁 ?我想在apple工作1314151天～',
  'The quick brown fox jumps over the lazy dog, and the dog does not mind it at all.',
  'All human beings are born free and equal in dignity and rights.',
  'Alle Menschen sind frei und gleich an Würde und Rechten geboren; die Straße heißt "Größe".',
  'Tous les êtres humains naissent libres et égaux en dignité et en droits. Où ça ? À l\'œuvre !',
  'Todos los seres humanos nacen libres e iguales. ¿Qué? ¡Sí, señor!',
  'Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv.',
  'Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw.',
  'Все люди рождаются свободными и равными в своём достоинстве и правах.',
  'Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια.',
  'כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם.', 'שָׁלוֹם עֲלֵיכֶם',
  'يولد جميع الناس أحرارا متساوين في الكرامة والحقوق.', 'السَّلَامُ عَلَيْكُمْ ١٢٣٤٥٦',
  'تمام افراد بشر آزاد به دنیا می‌آیند ۱۲۳۴', 'सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता १२३४५',
  'সমস্ত মানুষ স্বাধীনভাবে সমান মর্যাদা ১২৩', 'மனிதப் பிறிவியினர் சகலரும் சுதந்திரமாகவே பிறக்கின்றனர்',
  'มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์ ๑๒๓๔', 'កាន់តែពិសេសអាច😁 ?我想在apple工作1314151天～',
  'ລາວ ເກີດມາມີສິດເສລີພາບ', 'မြန်မာ လူတိုင်းသည်', 'ყველა ადამიანი იბადება თავისუფალი', 'Բոլոր մարդիկ ծնվում են ազատ',
  'ሰላም ለዓለም ሁሉ ፩፪፫', '人人生而自由，在尊严和权利上一律平等。', '人人生而自由,在尊嚴和權利上一律平等。共２０２４年',
  'すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。', 'カタカナ ひらがな 漢字 ｶﾀｶﾅ',
  '모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.', '한글 ㄱㄴㄷ', 'Tất cả mọi người sinh ra đều được tự do và bình đẳng',
  'Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. İIıi', 'ǅ ǆ Ǆ ʰ ˈ ª º', 'naïve café résumé coöperate façade',
  'cafe\u0301 nai\u0308ve n\u0303 a\u0301\u0323', 'Zalgo t\u0334\u0301e\u0335\u0302x\u0336t', '\u{10330}\u{10331}\u{10332} \u{1D400}\u{1D401} \u{20000}\u{2A6D6}',
  'ﬁ ﬂ ﬀ ㎏ ℡ ½ ¼ ² ³ ⅷ Ⅻ ① ⑳ ㊿', 'x² + y² = z²; √2 ≈ 1.41421356', '∀x∈ℝ: ⌈x⌉ = −⌊−x⌋, α ∧ ¬β = ¬(¬α ∨ β)',
];
const SPACES = [
  '', ' ', '  ', '   ', '    ', '\t', '\t\t', '\n', '\n\n', '\n\n\n', '\r\n', '\r\n\r\n', '\r', '\t\n', ' \n', '\n ', ' \n \n ', '\n\t\n\t ',
  'a ', ' a', '  a', '   a', 'a  b', 'a   b', 'a    b', 'a\tb', 'a\t\tb', 'a\nb', 'a\n\nb', 'a\n\n\nb', 'a \n b', 'a\r\nb', 'a \r\n\r\n b',
  'a  \n  b\n', '   leading and trailing   ', 'tabs\tand  spaces \t mixed\t ', 'end \n\n\n\n', '        eight', 'a                b',
  'no\u00a0break', '\u00a0\u00a0x', 'a\u3000b\u3000\u3000c', 'thin\u2009space\u200ahair', 'zero\u200bwidth\u200djoin\ufeff', 'a\u0085b\u2028c\u2029d',
  'a\u180eb', '\u1680ogham\u205fx', 'x\u000by\u000cz', '\u2581', 'a\u2581b', '\u2581\u2581lower', ' \u2581 ',
];
const NUMBERS = [
  '0', '7', '12', '123', '1234', '12345', '123456', '1234567', '12345678', '123456789', '1234567890', ' 1', ' 12', ' 123', ' 1234', '3.14159', '1,234,567.89',
  '1.000.000,00 €', '$100', '$1,000', '-5', '+49 30 1234567', '2024-11-22T05:10:00Z', '10%', '100%', '1e-5', '0xDEADBEEF', 'v1.2.3-rc4', 'x1y22z333',
  'a1b2c3', '1st 2nd 3rd 4th', '007', '1/2', '١٢٣٤٥', '१२३४५६', '１２３４', '𝟏𝟐𝟑𝟒', '1 2 3 4', '12 34  567   8901', '99 bottles', 'Route66', '5\'s', '90\'s', '12\n34',
  '²³¹', 'Ⅷ1', '٣.١٤', '1２3', '111111111111111111111',
];
const APOSTROPHES = [
  'I\'m', 'I\'M', 'you\'re', 'YOU\'RE', 'we\'ve', 'WE\'Ve', 'they\'ll', 'THEY\'LL', 'he\'d', 'HE\'D', 'it\'s', 'IT\'S', 'don\'t', 'DON\'T', 'can\'T',
  'I\'ll\'x', '\'s', ' \'s', '\'tis', '\'re\'ve', '\'\'s', 'rock\'n\'roll', 'o\'clock', 'y\'all\'d\'ve', '’s it’s', 'l\'été d\'hiver', '\'', '\'\'', '\'d1', '\'lls', 'a\'',
  '\'sword \'more \'relic', 'x\'S\'T\'RE\'VE\'M\'LL\'D',
];
const MARKS = [
  '!', '!!', '!!!', '!!!!!!', '?!', '...', '…', '. . .', '---', '===', '--', '->', '=>', '<=', '>=', '!=', '==', '&&', '||', '++', '`', '```', '``x``', '~~~', '^', '^^', '|', '||x||',
  '(abc)', '[abc]', '{abc}', '"abc"', '«abc»', '„abc“', '（abc）', ' !', ' !!', 'a !', 'a!b', 'a!?\n\nb', 'end.\n', 'end.\n\n', 'end. \n', '!\r\n!', '#hashtag @mention', 'a_b_c __init__',
  'http://example.com/a?b=c&d=e#f', 'user.name+tag@example.co.uk', 'C:\\Users\\x', '/usr/lib/x86_64', '$x + $y = <z>', '€£¥₹', '©®™', '•·‣', '—–‒', '¡¿', '。，、；：？！', '<|im_start|>user<|im_end|>',
  '<s>', '</s>', '<unk>', '<0x0A>', '<|endoftext|>', '[INST] x [/INST]', '<think>hm</think>', 'a<tool>b', 'a <tool> b<tool>', 'Ġ', 'Ċ', 'Ã©', 'a\u0000b', '\u0001\u001b[31m', '\u007f', '\ufffd', '\ufffe',
];
const EMOJI = [
  '😀', '😀😀', ' 😀', '😀 x', '👍🏽', '👩‍👩‍👧‍👦', '🇩🇪🇫🇷', '❤️', '1️⃣2️⃣', '🏳️‍🌈 pride', '🚀 (normal) 😶‍🌫️ (multiple emojis concatenated) ✅ 🦙🦙 3 33 333 3333', '☺ ☹ ♥', '🀄🂡', 'x🤷‍♂️y',
];
const CODE = [
  'def f(x):\n    return x + 1\n', 'int main(int argc, char** argv) {\n\tprintf("%d\\n", argc);\n\treturn 0;\n}\n', 'for (let i = 0; i < 10; ++i) { a[i] = i * i; }',
  'SELECT * FROM t WHERE a >= 10 AND b <> \'x\';', '<div class="a b">text &amp; more</div>', 'if x:\n        if y:\n                pass\n\n\nelse:\n  z', '#include <vector>\n\n// comment\nstd::vector<int> v{1, 2, 3};',
  '| a | b |\n|---|---|\n| 1 | 22 |\n', '* one\n* two\n    * three\n\n1. x\n2. y', '```python\nprint("hi")\n```', '{"key": [1, 2.5, null, true], "x": {"y": "z"}}', 'a=1;b=2;c=a+b', 'fn main() { println!("{:?}", x); }',
  'git commit -m "fix: it\'s done" && git push', 'λx.λy.x y', '\\frac{a}{b} \\alpha_{i,j}^{2}', '0b1010 0o777 1_000_000', 'camelCase PascalCase snake_case SCREAMING_CASE kebab-case',
];
const LONG = ['a'.repeat(100), 'ab'.repeat(60), ' '.repeat(70), '\n'.repeat(33), '!'.repeat(50), 'é'.repeat(40), '漢'.repeat(30), '1'.repeat(40), 'the '.repeat(25), '\' '.repeat(20),
  'lowerlowerlower lower LOWER', 'supercalifragilisticexpialidocious', 'Donaudampfschifffahrtsgesellschaftskapitän', 'thethethe andandand theand', '-'.repeat(64)];
// Latin-1 here: one character for each byte.
const NOT_UTF8 = [
  '\xff', '\xfe\xff', '\x80', 'abc\xff', '\xffabc', 'abc\x80\x81def', 'a\xc3', 'a\xc3 b', '\xe2\x82', 'x\xe2\x82y', '\xf0\x9f\x98', 'x \xf0\x9f y', '\xc0\x80', '\xed\xa0\x80', '\xf4\x90\x80\x80', '\xe9t\xe9 caf\xe9 12345',
  'the \xff the\xff\xff 1234 \xc3\xa9\xc3', ' \xff ', '\n\xff\n', '\xf8\x88\x80\x80\x80', 'it\'s \xe2\x96 12 \xe2\x96\x81x',
];
// For Gemma's vocabularies only: tags of HTML, runs of line ends and spaces.
const GEMMA = ['<table><tr><td>a</td></tr></table>', ' <b>bold</b> <i>x</i>', '<h1>Title</h1>\n\n\n\n\nText', '<code>  a\t\tb </code>', '<b', 'b>', '<b >', '<bb>', '</b></b>', '<td>\n\n</td>',
  '\n\n\n\n', '\n\n\n\n\n\n\n', 'a\n\n\n\nb', '\n \n\n  \n\n\n   ', '     ', '         ', 'a     b', '\t\t\t', ' \t ', 'x<table', '<sup>2</sup> <sub>3</sub>', 'the <b>the</b>the'];
const TEXTS = [...new Set([...SENTENCES, ...SPACES, ...NUMBERS, ...APOSTROPHES, ...MARKS, ...EMOJI, ...CODE, ...LONG])];

// ---- Training: the most frequent pair of neighbours in the chunks becomes a token, and so on

function train(chunks, split, nMerges) {
  const words = new Map();
  for (const chunk of chunks) words.set(chunk, (words.get(chunk) ?? 0) + 1);
  const parts = [...words].map(([chunk, n]) => ({symbols: split(chunk), n}));
  const merges = [];
  while (merges.length < nMerges) {
    const counts = new Map();
    for (const {symbols, n} of parts) {
      for (let i = 0; i + 1 < symbols.length; ++i) {
        const pair = symbols[i] + ' ' + symbols[i + 1];
        counts.set(pair, (counts.get(pair) ?? 0) + n);
      }
    }
    let best = null, most = 1;
    for (const [pair, n] of counts) {
      if (n > most || (n === most && best !== null && pair < best)) [best, most] = [pair, n];
    }
    if (best === null) break;
    const [left, right] = best.split(' ');
    merges.push([left, right]);
    for (const part of parts) {
      const joined = [];
      for (let i = 0; i < part.symbols.length; ++i) {
        if (part.symbols[i] === left && part.symbols[i + 1] === right) {
          joined.push(left + right);
          ++i;
        } else {
          joined.push(part.symbols[i]);
        }
      }
      part.symbols = joined;
    }
  }
  return merges;
}

// GPT-2's alphabet of bytes
const ALPHABET = [];
for (let byte = 0, next = 256; byte < 256; ++byte) {
  const itself = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
  ALPHABET[byte] = String.fromCharCode(itself ? byte : next++);
}
const spell = (text) => [...Buffer.from(text)].map((byte) => ALPHABET[byte]);

// Chunks that no single pre-tokenizer makes, so that there are merges that each of them must forbid.
const CHUNKS = [/\S+/g, / ?\S+/g, /[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+/gu, / ?\p{N}+/gu, /\s+\S/g];
const chunks = CHUNKS.flatMap((pattern) => TEXTS.flatMap((text) => text.match(pattern) ?? []));

const bpeMerges = train(chunks, spell, 1200);
const bpeTokens = [...ALPHABET];
for (const [left, right] of bpeMerges) if (!bpeTokens.includes(left + right)) bpeTokens.push(left + right);
// Words that no order of merges makes: only ignore_merges finds them.
for (const word of [' Hello', 'Straße', ' quick', ' brown', 'égaux', ' dignity', '314', '!!!!!!', 'supercalifragilisticexpialidocious', ' люди', '\n\n\n', '人人生而自由'])
  if (!bpeTokens.includes(spell(word).join(''))) bpeTokens.push(spell(word).join(''));

const spaced = (text) => text.replaceAll('<tool>', '').replaceAll(' ', MARK);  // what is learned from
const MARK = '\u2581';
const LLAMA = [['<unk>', 0, 2], ['<s>', 0, 3], ['</s>', 0, 3]];
const GEMMA3 = [['<pad>', 0, 3], ['<eos>', 0, 3], ['<bos>', 0, 3], ['<unk>', 0, 2],
  ...['\n', '\n\n', '\n\n\n', '\t', '\t\t', MARK.repeat(2), MARK.repeat(3), MARK.repeat(4), MARK.repeat(8), '<table>', '</table>', '<tr>', '</tr>', '<td>', '</td>', '<h1>', '</h1>', '<b>', '</b>', '<code>', '</code>']
    .map((text) => [text, 0, 4])];
const byteName = (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;
// One vocabulary as LLaMA has it; one without bytes, whose tokens may hold a space in the middle; one as Gemma 3 has
// it, where line ends, runs of spaces and tags of HTML are defined by its makers.
function trainSpm(byteFallback, spmChunks, nMerges, first = LLAMA) {
  const counts = new Map();
  for (const chunk of spmChunks) for (const c of chunk) counts.set(c, (counts.get(c) ?? 0) + 1);
  const merges = train(spmChunks, (chunk) => [...chunk], nMerges);
  const pieces = [...first];
  if (byteFallback) for (let byte = 0; byte < 256; ++byte) pieces.push([byteName(byte), 0, 6]);
  const known = new Set(first.map(([text]) => text));
  const add = (piece, score) => {
    if (!known.has(piece)) pieces.push([piece, score, 1]);
    known.add(piece);
  };
  // Every seventh score is that of its neighbour, so that some pairs are equally good.
  merges.forEach(([left, right], i) => add(left + right, -(i % 7 === 3 ? i - 1 : i)));
  for (const [c, n] of [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1))) if (n > 2 && c !== '\0') add(c, -nMerges - known.size + first.length);
  if (byteFallback && first === LLAMA) pieces.push(['<tool>', 0, 4], [MARK.repeat(12), 0, 4]);
  return pieces;
}
const llama = trainSpm(true, TEXTS.flatMap((text) => (spaced(' ' + text).match(/\u2581*[^\u2581]*/g) ?? []).filter((chunk) => chunk !== '')), 900);
const plain = trainSpm(false, TEXTS.map(spaced).filter((text) => text !== ''), 500);

const gemma3 = trainSpm(true, [...TEXTS, ...GEMMA].flatMap((text) => (spaced(text).match(/\u2581?[^\u2581\n\t]+/g) ?? [])), 500, GEMMA3);

// Gemma 4's: merges run over whole lines, and make its runs of line ends too; a character that is rare has none.
function trainLines(lines, nMerges) {
  const counts = new Map();
  for (const line of lines) for (const c of line) counts.set(c, (counts.get(c) ?? 0) + 1);
  const common = [...counts].filter(([c, n]) => n > 2 && c !== '\0').map(([c]) => c).sort();
  const merges = train(lines, (line) => [...line], nMerges).filter((pair) => pair.every((side) => [...side].every((c) => common.includes(c))));
  const tokens = ['<pad>', '<eos>', '<bos>', '<unk>', ...Array.from({length: 256}, (_, byte) => byteName(byte)), ...common];
  const known = new Set(tokens);
  for (const [left, right] of merges) if (!known.has(left + right)) known.add(left + right);
  return {tokens: [...known], merges};
}
const gemma4 = trainLines([...TEXTS, ...GEMMA].flatMap((text) => spaced(text).match(/[^\n]+|\n+/g) ?? []), 600);

// ---- Hugging Face's tokenizers

const LLAMA3 = '(?i:\'s|\'t|\'re|\'ve|\'m|\'ll|\'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+';
const split = (pattern) => ({type: 'Split', pattern: {Regex: pattern}, behavior: 'Isolated', invert: false});
const byteLevel = (useRegex) => ({type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: useRegex});
const sequence = (...pretokenizers) => ({type: 'Sequence', pretokenizers});
// gpt-2 and smollm need no pattern of ours: ByteLevel and Digits have their own. ByteLevel writes bytes in its
// alphabet, after which nothing can be cut, so where something follows it stands as a pattern.
const GPT2 = '\'s|\'t|\'re|\'ve|\'m|\'ll|\'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+';
const CAPITAL = '[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]', SMALL = '[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]', SHORT = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?";
const O200K = `[^\\r\\n\\p{L}\\p{N}]?${CAPITAL}*${SMALL}+${SHORT}|[^\\r\\n\\p{L}\\p{N}]?${CAPITAL}+${SMALL}*${SHORT}|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;
const PRE = {
  'gpt-2': byteLevel(true),
  'llama-bpe': sequence(split(LLAMA3), byteLevel(false)),
  'qwen2': sequence(split(LLAMA3.replace('{1,3}', '')), byteLevel(false)),
  'dbrx': sequence(split(LLAMA3), byteLevel(false)),
  'qwen35': sequence(split(LLAMA3.replace('{1,3}', '').replace('?\\p{L}+', '?[\\p{L}\\p{M}]+').replace('[^\\s\\p{L}\\p{N}]', '[^\\s\\p{L}\\p{M}\\p{N}]')), byteLevel(false)),
  'gpt-4o': sequence(split(O200K), byteLevel(false)),
  'tekken': sequence(split(O200K.replaceAll(SHORT, '').replace('{1,3}', '')), byteLevel(false)),
  'deepseek-coder': sequence(...['[\\r\\n]', '\\s?\\p{L}+', '\\s?\\p{P}+', '[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+'].map(split), {type: 'Digits', individual_digits: true}, byteLevel(false)),
  'smollm': sequence({type: 'Digits', individual_digits: true}, byteLevel(true)),
  'falcon': sequence(split('[\\p{P}$+<=>^~|`]+'), split(GPT2), split('[0-9][0-9][0-9]'), byteLevel(false)),
  'default': sequence(split('[\\p{P}$+<=>^~|]+'), split(GPT2), split('\\p{N}+'), split('[0-9][0-9][0-9]'), byteLevel(false)),
};

function hugging(pre) {
  return Tokenizer.fromString(JSON.stringify({
    version: '1.0', truncation: null, padding: null, added_tokens: [], normalizer: null, pre_tokenizer: PRE[pre], post_processor: null, decoder: null,
    model: {type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: false, byte_fallback: false,
      ignore_merges: pre === 'llama-bpe' || pre === 'tekken', vocab: Object.fromEntries(bpeTokens.map((token, id) => [token, id])), merges: bpeMerges.map((pair) => pair.join(' '))},
  }));
}

const ESCAPE = {type: 'Replace', pattern: {String: ' '}, content: MARK};
const bpeWithBytes = (vocab, merges, addedTokens, normalizer) => Tokenizer.fromString(JSON.stringify({
  version: '1.0', truncation: null, padding: null, added_tokens: addedTokens, normalizer, pre_tokenizer: null, post_processor: null, decoder: null,
  model: {type: 'BPE', dropout: null, unk_token: '<unk>', continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: true, byte_fallback: true, ignore_merges: false,
    vocab, merges}}));
const huggingGemma4 = bpeWithBytes(Object.fromEntries(gemma4.tokens.map((token, id) => [token, id])), gemma4.merges, [], ESCAPE);

// Phi-3's: LLaMA's vocabulary, whose scores become -id here so that none are equal, and marks of turns that take
// the white space after them. A space goes before every text that follows a mark.
const PHI3_MARKS = [['<|endoftext|>', false], ['<|assistant|>', true], ['<|system|>', true], ['<|end|>', true], ['<|user|>', true]];
// SentencePiece makes a token of characters that have no token themselves; the other library does not. So these
// tokens are not used.
const phi3Unused = llama.flatMap(([text, , type], id) => type === 1 && [...text].some((c) => !llama.some(([other]) => other === c)) ? [id] : []);
function huggingPhi3() {
  const pieces = llama.slice(0, -2), normal = new Set(pieces.filter(([, , type], id) => type === 1 && !phi3Unused.includes(id)).map(([text]) => text));
  const merges = [...normal].flatMap((text) => {
    const c = [...text];
    return c.slice(1).map((_, i) => [c.slice(0, i + 1).join(''), c.slice(i + 1).join('')]).filter((pair) => pair.every((side) => normal.has(side)));
  });
  const added = (content, id, rstrip) => ({id, content, single_word: false, lstrip: false, rstrip, normalized: false, special: true});
  const marks = [added('<unk>', 0, false), added('<s>', 1, false), added('</s>', 2, true), ...PHI3_MARKS.map(([text, rstrip], i) => added(text, pieces.length + i, rstrip))];
  return bpeWithBytes(Object.fromEntries([...pieces.map(([text]) => text), ...PHI3_MARKS.map(([text]) => text)].map((text, id) => [text, id])), merges, marks,
    {type: 'Sequence', normalizers: [{type: 'Prepend', prepend: MARK}, ESCAPE]});
}
const PHI3_FORMS = [(text) => text, (text) => `<|user|>\n${text}<|end|>\n<|assistant|>\n`, (text) => `<s><|system|> \n\tS<|end|>${text}</s> <|endoftext|> x`, (text) => `<|end|>${text}<|end|> <|user|>\r\n`];

// ---- SentencePiece

function modelFile(pieces, byteFallback, prefix) {
  const varint = (n) => n < 128 ? Buffer.from([n]) : Buffer.concat([Buffer.from([n & 127 | 128]), varint(n >> 7)]);
  const number = (field, n) => Buffer.concat([varint(field << 3), varint(n)]);
  const bytes = (field, content) => Buffer.concat([varint(field << 3 | 2), varint(content.length), content]);
  const float = (field, x) => {
    const out = Buffer.alloc(4);
    out.writeFloatLE(x);
    return Buffer.concat([varint(field << 3 | 5), out]);
  };
  const list = pieces.map(([text, score, type]) => bytes(1, Buffer.concat([bytes(1, Buffer.from(text)), float(2, score), number(3, type)])));
  const trainer = [number(3, 2), number(4, pieces.length), number(35, byteFallback ? 1 : 0),
    ...[2, 3].map((type) => pieces.findIndex((piece) => piece[2] === type)).flatMap((id, i) => [number(40 + i, id)]), number(42, 2)];
  const normalizer = [bytes(1, Buffer.from('identity')), number(3, prefix ? 1 : 0), number(4, 0), number(5, 1)];
  return Buffer.concat([...list, bytes(2, Buffer.concat(trainer)), bytes(3, Buffer.concat(normalizer))]);
}

async function sentencePiece(pieces, byteFallback, prefix) {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'spm-')), 'm.model');
  fs.writeFileSync(file, modelFile(pieces, byteFallback, prefix));
  const processor = new SentencePieceProcessor();
  await processor.load(file);
  const name = new processor.sentencepiece.StringView('sentencepiece.model');  // load() does not say what is wrong
  const status = processor.processor.Load(name.getView()).ToString();
  if (status !== 'OK') throw new Error(status);
  return processor;
}

// ---- All together

// The stretches of bytes that are UTF-8 (as strings), and the bytes between (as numbers)
function stretches(latin1) {
  const bytes = Buffer.from(latin1, 'latin1'), out = [];
  const decoder = new TextDecoder('utf-8', {fatal: true, ignoreBOM: true});
  for (let at = 0; at < bytes.length;) {
    let end = 0, character;
    for (let n = 1; n <= 4 && at + n <= bytes.length && !end; ++n) {
      try {
        character = decoder.decode(bytes.subarray(at, at + n));
        end = at + n;
      } catch {
      }
    }
    if (!end) out.push(bytes[at++]);
    else {
      if (typeof out.at(-1) === 'string') out.push(out.pop() + character);
      else out.push(character);
      at = end;
    }
  }
  return out;
}

const golden = {
  made_by: 'node tests/tokenizer/make_tokenizer_cases.mjs tests/tokenizer/golden, with @anush008/tokenizers 0.6.0 (Hugging Face tokenizers 0.22.2) and @agnai/sentencepiece-js 1.1.1 (SentencePiece)',
  texts: TEXTS, not_utf8: NOT_UTF8.map((text) => Buffer.from(text, 'latin1').toString('hex')), ids: {}};
for (const pre of Object.keys(PRE)) {
  const tokenizer = hugging(pre);
  const encode = async (text) => (await tokenizer.encode(text, null, {addSpecialTokens: false})).getIds();
  const all = [];
  for (const text of TEXTS) all.push([...await encode(text)]);
  for (const text of NOT_UTF8) {
    const ids = [];
    for (const part of stretches(text)) ids.push(...(typeof part === 'string' ? await encode(part) : [part]));
    all.push(ids);
  }
  golden.ids[pre] = all;
}
for (const [name, pieces, bytes] of [['llama', llama, true], ['plain', plain, false]]) {
  const processor = await sentencePiece(pieces, bytes, bytes);
  const inside = await sentencePiece(pieces, bytes, false);
  // The wrapper takes no NUL. Where a text begins with a user-defined token, SentencePiece still puts ▁ before it;
  // we, like llama.cpp, do not.
  const ours = (text) => text.includes('\0') || (bytes && text.startsWith(' '.repeat(12)));
  const all = TEXTS.map((text) => ours(text) ? null : [...processor.encodeIds(text)]);
  for (const text of NOT_UTF8) {
    all.push(bytes ? stretches(' ' + text).flatMap((part) => typeof part === 'string' ? [...inside.encodeIds(part)] : [part + 3]) : null);
  }
  golden.ids[name] = all;
}

{
  const processor = await sentencePiece(gemma3, true, false);
  const encode = (text) => text.includes('\0') ? null : [...processor.encodeIds(text)];
  golden.ids.gemma3 = [...[...TEXTS, ...GEMMA].map(encode), ...NOT_UTF8.map((text) => stretches(text).flatMap((part) => typeof part === 'string' ? encode(part) : [part + gemma3.findIndex(([piece]) => piece === '<0x00>')]))];
  const line = async (text) => [...(await huggingGemma4.encode(text, null, {addSpecialTokens: false})).getIds()];
  golden.ids.gemma4 = [];
  for (const text of [...TEXTS, ...GEMMA]) golden.ids.gemma4.push(await line(text));
  for (const text of NOT_UTF8) {
    const ids = [];
    for (const part of stretches(text)) ids.push(...(typeof part === 'string' ? await line(part) : [part + 4]));
    golden.ids.gemma4.push(ids);
  }
  const phi3 = huggingPhi3();
  golden.phi3 = [];
  for (const [i, text] of TEXTS.entries()) {
    const whole = PHI3_FORMS[i % PHI3_FORMS.length](text);
    if (!/<tool>|<unk>|\0|\u2581/.test(whole))  // to us a \u2581 is a space, which a mark takes too
      golden.phi3.push([whole, [...(await phi3.encode(whole, null, {addSpecialTokens: false})).getIds()]]);
  }
}

const lines = (list) => '[\n' + list.map((one) => JSON.stringify(one)).join(',\n') + '\n]';
fs.writeFileSync(path.join(FOLDER, 'vocabularies.json'), `{"bpe": {"tokens": ${JSON.stringify(bpeTokens)},
"merges": ${JSON.stringify(bpeMerges.map((pair) => pair.join(' ')))}},
"llama": ${JSON.stringify(llama)},
"plain": ${JSON.stringify(plain)},
"gemma3": ${JSON.stringify(gemma3)},
"gemma4": {"tokens": ${JSON.stringify(gemma4.tokens)},
"merges": ${JSON.stringify(gemma4.merges.map((pair) => pair.join(' ')))}},
"phi3": {"marks": ${JSON.stringify(PHI3_MARKS)}, "unused": ${JSON.stringify(phi3Unused)}}}
`);
fs.writeFileSync(path.join(FOLDER, 'cases.json'), `{"made_by": ${JSON.stringify(golden.made_by)},
"texts": ${lines(golden.texts)},
"gemma_texts": ${lines(GEMMA)},
"not_utf8": ${JSON.stringify(golden.not_utf8)},
"phi3": ${lines(golden.phi3)},
"ids": {
${Object.entries(golden.ids).map(([name, all]) => `"${name}": ${lines(all)}`).join(',\n')}
}}
`);
console.log(TEXTS.length + NOT_UTF8.length, 'texts;', bpeTokens.length, llama.length, plain.length, gemma3.length, gemma4.tokens.length, 'tokens');
