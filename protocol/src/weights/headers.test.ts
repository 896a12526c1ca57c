import { describe, expect, test } from 'vitest';
import { headerLength, readConfig, readGguf, tensorBytes } from './index.ts';

const text = (value: unknown): Uint8Array => new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value));

describe('config.json', () => {
  test('heads and their size have the defaults of the format', () => {
    const config = { num_hidden_layers: 2, num_attention_heads: 8, hidden_size: 512, intermediate_size: 1024, vocab_size: 1000 };
    expect(readConfig(config)).toMatchObject({ kvHeads: 8, headSize: 64 });
    expect(readConfig({ text_config: config, vision_config: {} })).toMatchObject({ layers: 2 });
  });

  test('what is absent or no number is named with the cure', () => {
    const config = {
      num_hidden_layers: 32,
      num_attention_heads: 32,
      num_key_value_heads: 8,
      head_dim: 128,
      hidden_size: 4096,
      intermediate_size: 14_336,
      vocab_size: 128_256,
    };
    expect(() => readConfig({ ...config, num_hidden_layers: undefined })).toThrow(/num_hidden_layers is absent: add it/);
    expect(() => readConfig({ ...config, vocab_size: '128k' })).toThrow(/vocab_size is 128k/);
    expect(() => readConfig({ ...config, hidden_size: -1 })).toThrow(/hidden_size is -1/);
  });
});

describe('a safetensors header', () => {
  test('says its length, within the bound of the format', () => {
    const start = new Uint8Array(8);
    new DataView(start.buffer).setBigUint64(0, 4711n, true);
    expect(headerLength(start)).toBe(4711);
    new DataView(start.buffer).setBigUint64(0, 2n ** 60n, true);
    expect(() => headerLength(start)).toThrow(/would have 1152921504606846976 bytes/);
    expect(() => headerLength(start.subarray(0, 5))).toThrow(/fewer than 8 bytes/);
  });

  test('what is no header is refused with the place', () => {
    expect(() => tensorBytes(text('{"a": '))).toThrow(/is no JSON.*whole/);
    expect(() => tensorBytes(text([]))).toThrow(/no object of tensors/);
    expect(() => tensorBytes(text({}))).toThrow(/names no tensor/);
    expect(() => tensorBytes(text({ w: { dtype: 'F16', shape: [1], data_offsets: [4, 2] } }))).toThrow(/w\.data_offsets/);
    expect(() => tensorBytes(text({ w: null }))).toThrow(/w\.data_offsets/);
    const tensors = { __metadata__: { format: 'pt' }, a: { data_offsets: [0, 100] }, b: { data_offsets: [100, 2 ** 33] } };
    expect(tensorBytes(text(tensors))).toBe(2 ** 33);
  });
});

/** A GGUF header: pairs of [name, type, bytes], tensors of [name, dimensions, type]. */
function gguf(
  pairs: readonly (readonly [string, number, Uint8Array])[],
  tensors: readonly (readonly [string, readonly number[], number])[],
) {
  const parts: Uint8Array[] = [text('GGUF'), u32(3), u64(tensors.length), u64(pairs.length)];
  for (const [name, type, value] of pairs) parts.push(string(name), u32(type), value);
  for (const [name, dimensions, type] of tensors)
    parts.push(string(name), u32(dimensions.length), ...dimensions.map(u64), u32(type), u64(0));
  return new Uint8Array(Buffer.concat(parts));
}

const u32 = (value: number): Uint8Array => new Uint8Array(new Uint32Array([value]).buffer);
const u64 = (value: number): Uint8Array => new Uint8Array(new BigUint64Array([BigInt(value)]).buffer);
const string = (value: string): Uint8Array => new Uint8Array(Buffer.concat([u64(value.length), text(value)]));
const strings = (values: readonly string[]): Uint8Array =>
  new Uint8Array(Buffer.concat([u32(8), u64(values.length), ...values.map(string)]));

describe('a GGUF header', () => {
  const pairs = [
    ['general.architecture', 8, string('llama')],
    ['llama.block_count', 4, u32(2)],
    ['llama.attention.head_count', 4, u32(8)],
    ['llama.attention.head_count_kv', 10, u64(4)],
    ['llama.embedding_length', 4, u32(512)],
    ['llama.feed_forward_length', 4, u32(1024)],
    ['llama.rope.freq_base', 6, u32(0)],
    ['tokenizer.ggml.tokens', 9, strings(['a', 'bc', ''])],
  ] as const;

  test('tells the architecture, and bytes by blocks of the types', () => {
    const header = readGguf(
      gguf(pairs, [
        ['token_embd.weight', [256, 2], 12],
        ['norm', [512], 0],
      ]),
    );
    expect(header).toEqual({
      architecture: { layers: 2, heads: 8, kvHeads: 4, headSize: 64, hiddenSize: 512, feedForwardSize: 1024, vocabulary: 3 },
      weightBytes: 2 * 144 + 512 * 4,
    });
  });

  test('cut at any byte it is refused, never read wrongly and never endlessly', () => {
    const whole = gguf(pairs, [['w', [32], 8]]);
    for (let length = 0; length < whole.byteLength; length += 1)
      expect(() => readGguf(whole.subarray(0, length)), `cut after ${length}`).toThrow(/GGUF: /);
  });

  test('counts beyond reason, unknown types and versions are refused', () => {
    const whole = gguf(pairs, [['w', [32], 200]]);
    expect(() => readGguf(whole)).toThrow(/w is of type 200/);
    const many = gguf(pairs, []);
    new DataView(many.buffer).setBigUint64(8, 2n ** 50n, true);
    expect(() => readGguf(many)).toThrow(/tensor_count is 1125899906842624/);
    const old = gguf(pairs, []);
    old[4] = 1;
    expect(() => readGguf(old)).toThrow(/version is 1/);
  });
});
