import { describe, expect, test } from 'vitest';
import { readCommandLine } from './commandLine.ts';

describe('the command line of an engine in tests', () => {
  test('is a folder, and flags that vLLM has', () => {
    const { model, flags } = readCommandLine([
      '/m',
      '--served-model-name',
      'a',
      'b',
      '--enable-lora',
      '--max_lora_rank=16',
      '--port',
      '8000',
    ]);
    expect(model).toBe('/m');
    expect([...flags]).toEqual([
      ['--served-model-name', ['a', 'b']],
      ['--enable-lora', []],
      ['--max-lora-rank', ['16']],
      ['--port', ['8000']],
    ]);
  });

  test.each([
    [['/m', '--kv-cache-bytes', '1'], /unrecognized arguments: --kv-cache-bytes/],
    [['--model', '/m'], /unrecognized arguments: --model/],
    [['/m', '--max-lora-rank', '24'], /--max-lora-rank: invalid value: "24"/],
    [['/m', '--quantization', ''], /--quantization: invalid value: ""/],
    [['/m', '--kv-cache-dtype', 'int3'], /--kv-cache-dtype: invalid value: "int3"/],
    [['/m', '--speculative-config', '{'], /--speculative-config: invalid value/],
    [['/m', '--port', '--enable-lora'], /--port: expected one argument/],
    [['/m', '/n'], /one model/],
    [['--port', '1'], /one model/],
  ])('refuses %j', (words, message) => {
    expect(() => readCommandLine(words)).toThrow(message);
  });
});
