import { describe, expect, it } from 'vitest';
import { systemClock, type Clock } from '../base/clock.ts';
import { LiveInput } from './input.ts';

const bytes = Buffer.from('one\n');
const noted = (): Promise<void> => Promise.resolve();

/** An input whose runner answers on demand; `expire` ends the wait for it. */
function open() {
  const sent: [seq: number, text: string][] = [];
  let expire = (): void => undefined;
  const clock: Clock = {
    ...systemClock,
    after: (_, run) => {
      expire = run;
      return () => undefined;
    },
  };
  const input = new LiveInput('x', clock, (seq, part) => void sent.push([seq, part.toString()]));
  const late = async (part = bytes): Promise<void> => {
    const asked = input.write(1, part, false, noted);
    await new Promise(setImmediate);
    expire();
    await expect(asked).rejects.toMatchObject({ code: 'AF_TOOLS_UNAVAILABLE' });
  };
  return { input, sent, late };
}

describe('a part whose answer is late', () => {
  it('is sent again with its number, by which the runner knows it, and counts once', async () => {
    const { input, sent, late } = open();
    await late();
    const again = input.write(1, bytes, false, noted);
    await new Promise(setImmediate);
    input.answered(1, '');
    input.answered(1, '');
    expect(await again).toMatchObject({ seq: 1 });
    expect(sent).toEqual([
      [1, 'one\n'],
      [1, 'one\n'],
    ]);
    expect(await input.write(1, bytes, false, noted)).toMatchObject({ repeated: true });
  });

  it('cannot be another one: it may have been taken', async () => {
    const { input, sent, late } = open();
    await late();
    await expect(input.write(1, Buffer.from('two\n'), false, noted)).rejects.toMatchObject({ code: 'AF_STDIN_SEQUENCE' });
    expect(sent).toHaveLength(1);
    input.answered(1, 'EAGAIN'); // it was not
    const other = input.write(1, Buffer.from('two\n'), false, noted);
    await new Promise(setImmediate);
    input.answered(1, '');
    expect(await other).toMatchObject({ seq: 1, repeated: false });
  });
});
