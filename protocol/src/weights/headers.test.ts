import { describe, expect, test } from 'vitest';
import { headerLength, readConfig, tensorBytes } from './index.ts';

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
  test('has its length, within the bound of the format', () => {
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
