import { describe, expect, test } from 'vitest';
import type { ExecEnd, ExecEvent } from '@agentfleet/protocol/keeper';
import { collect } from './transport.ts';

const end = { type: 'end', seq: 3, exitCode: 0 } as ExecEnd;

async function* stream(events: readonly ExecEvent[], onDrained: () => void): AsyncGenerator<ExecEvent> {
  for (const event of events) yield await Promise.resolve(event);
  onDrained();
}

describe('collecting a command', () => {
  test('joins bytes of both spellings and reads the stream to its end, so that its connection can be used again', async () => {
    let drained = false;
    const events: ExecEvent[] = [
      { type: 'out', seq: 1, stream: 'stdout', text: 'a€' },
      { type: 'keepalive' },
      { type: 'out', seq: 2, stream: 'stdout', b64: Buffer.from('b').toString('base64') },
      end,
    ];
    const result = await collect(stream(events, () => (drained = true)));
    expect(result).toEqual({ stdout: 'a€b', stderr: '', end });
    expect(drained).toBe(true);
  });

  test('a stream that stops before the end event is an error, not a result', async () => {
    await expect(collect(stream([{ type: 'keepalive' }], () => undefined))).rejects.toThrow('before its end');
  });
});
