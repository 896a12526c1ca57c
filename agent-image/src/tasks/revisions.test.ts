import { describe, expect, it } from 'vitest';
import { brief, eventually, WorkerBed } from '../testing/bed.ts';

const [known, unknown] = ['aaaaaaaaaa', 'bbbbbbbbbb'];
const canary = { ...brief.experts[0]!, url: 'http://canary:7080' };

describe('a task that is assigned to a revision', () => {
  it('is worked on by its experts alone, and is not begun where they are not known', async () => {
    await using bed = await WorkerBed.open();
    await bed.writeBrief(JSON.stringify({ ...brief, arms: [{ revision: known, experts: [canary], absent: [] }] }));
    await bed.start();
    await bed.sandbox('fix-1');
    await bed.task('fix', { revision: known });
    await eventually('the engine runs', () => bed.engine.calls.length === 1);
    expect(bed.engine.calls[0]?.context.pool.experts).toEqual([canary]);
    await bed.sandbox('other-1');
    await bed.task('other', { revision: unknown });
    await eventually('it is reported', () => bed.status('other').run?.outcome !== undefined);
    expect(bed.status('other').run?.outcome).toMatchObject({ result: 'Failed', class: 'Infrastructure', reason: 'RevisionUnknown' });
    expect(bed.engine.calls).toHaveLength(1);
  });
});
