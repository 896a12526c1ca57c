import { describe, expect, it } from 'vitest';
import { systemClock } from './clock.ts';
import { Gate, type Release } from './gate.ts';

const modes = ['exclusive', 'still', 'writer', 'shared', 'reading'] as const;
type Mode = (typeof modes)[number];

const take = (gate: Gate, mode: Mode): Release => gate[mode]({ kind: mode, name: 'x' });

/** Modes that may run beside the held one. */
const beside: Readonly<Record<Mode, readonly Mode[]>> = {
  exclusive: [],
  still: ['reading'],
  writer: ['reading'],
  shared: ['shared', 'reading'],
  reading: ['still', 'writer', 'shared', 'reading'],
};

describe('the gate', () => {
  it.each(modes)('held as %s admits the modes that may run beside it, and names itself to the others', (held) => {
    for (const mode of modes) {
      const gate = new Gate(systemClock);
      take(gate, held);
      if (beside[held].includes(mode)) expect(() => take(gate, mode)).not.toThrow();
      else
        expect(() => take(gate, mode)).toThrow(
          expect.objectContaining({ code: 'AF_BUSY', message: expect.stringContaining(`${held} x`) as string }),
        );
    }
  });

  it.each(modes)('that is shut has %s wait unless it withstands a writer', (mode) => {
    const gate = new Gate(systemClock);
    const held = take(gate, 'writer');
    gate.shut('something may live');
    held();
    if (mode === 'reading') expect(() => take(gate, mode)).not.toThrow();
    else expect(() => take(gate, mode)).toThrow(expect.objectContaining({ code: 'AF_TOOLS_UNAVAILABLE', message: expect.stringContaining('something may live') as string }));
    gate.shut(null);
    if (mode !== 'reading') expect(() => take(gate, mode)).not.toThrow();
  }); // prettier-ignore

  it('is free when all gave it back, each once', () => {
    const gate = new Gate(systemClock);
    const [first, second] = [take(gate, 'reading'), take(gate, 'reading')];
    first();
    first();
    expect(() => take(gate, 'exclusive')).toThrow();
    second();
    expect(() => take(gate, 'exclusive')).not.toThrow();
  });
});
