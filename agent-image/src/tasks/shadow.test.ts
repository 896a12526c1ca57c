// A worker whose tasks are in the shadow phase of a rollout, with a shadow that never answers.
import { describe, expect, it } from 'vitest';
import type { ActInQuestion } from '../attempt/ports.ts';
import { startPartsServer, type PartsServer } from '../decision/testing/partsServer.ts';
import { noCounts } from '../shadow/counts.ts';
import { brief, eventually, succeeded, WorkerBed } from '../testing/bed.ts';

const [rollout, revision] = ['bbbbbbbbbb-1', 'bbbbbbbbbb'];
const act: ActInQuestion = {
  head: 'Shell',
  tool: 'Shell',
  subject: 'make install',
  operator: 'make',
  rails: { decision: 'Review', risk: 'Reversible', findings: [] },
  features: {},
};

/** With time for a busy machine. */
function patient(server: PartsServer): ReturnType<PartsServer['pool']> {
  const { experts, verifier } = server.pool();
  return { experts, verifier: verifier === null ? null : { ...verifier, timeoutMillis: 30_000 } };
}

async function working(assignment: object) {
  const [bed, stable, shadow] = await Promise.all([WorkerBed.open(), startPartsServer(), startPartsServer()]);
  for (const capability of ['Score', 'Judge', 'Control'] as const) shadow.script.failing[capability] = 'Silent';
  const dark = { rollout, revision, percent: 100, maxInFlight: 8, ...shadow.pool() };
  const verifier = dark.verifier === null ? null : { ...dark.verifier, timeoutMillis: 2 ** 30 };
  await bed.writeBrief(JSON.stringify({ ...brief, ...patient(stable), shadow: { ...dark, verifier } }));
  await bed.start();
  await bed.sandbox('fix-1');
  await bed.task('fix', assignment);
  await eventually('the engine runs', () => bed.engine.calls.length === 1);
  const end = async (): Promise<void> => {
    await bed[Symbol.asyncDispose]();
    await Promise.all([stable[Symbol.asyncDispose](), shadow[Symbol.asyncDispose]()]);
  };
  return { bed, shadow, [Symbol.asyncDispose]: end };
}

describe('a task whose requests are copied', { timeout: 120_000 }, () => {
  it('ends when it has ended: copies that were not answered are dropped, and cost no write of their own', async () => {
    await using one = await working({ shadow: rollout });
    const { bed, shadow } = one;
    const { decisionModels } = bed.engine.last!.context;
    expect((await decisionModels.secondOpinion(act)).allowed).toBe(true);
    await eventually('copies are under way', () => shadow.bodies('Score').length === 1);
    const before = bed.reports('fix').length;
    bed.engine.last?.finish(succeeded);
    await eventually('it has ended', () => bed.status('fix').run?.outcome !== undefined);
    expect(bed.status('fix').run).toMatchObject({
      outcome: succeeded,
      shadow: { rollout, answered: 0, failed: 0, dropped: 3 },
    });
    await bed.worker?.stop();
    expect(bed.reports('fix')).toHaveLength(before + 1);
  });

  it('reports no shadow where its assignment names none, or another one', async () => {
    for (const assignment of [{}, { shadow: 'cccccccccc-1' }]) {
      await using one = await working(assignment);
      const { bed, shadow } = one;
      await bed.engine.last?.context.decisionModels.secondOpinion(act);
      bed.engine.last?.finish(succeeded);
      await eventually('it has ended', () => bed.status('fix').run?.outcome !== undefined);
      expect([bed.status('fix').run?.shadow, shadow.asked]).toEqual([undefined, []]);
    }
  });

  it('continues the counts of an earlier attempt', async () => {
    await using bed = await WorkerBed.open();
    await using stable = await startPartsServer();
    const { experts, verifier } = patient(stable);
    const dark = { rollout, revision, percent: 100, maxInFlight: 8, experts, verifier };
    await bed.writeBrief(JSON.stringify({ ...brief, experts, verifier, shadow: dark }));
    await bed.start();
    await bed.sandbox('fix-1');
    await bed.task('fix', { shadow: rollout, worker: 'nobody' });
    await bed.report('fix', { attempt: 1, epoch: 1, shadow: { ...noCounts(rollout), answered: 40 } });
    await bed.assign('fix', { attempt: 2, epoch: 2, shadow: rollout });
    await eventually('the engine runs', () => bed.engine.calls.length === 1);
    const { context } = bed.engine.last!;
    await context.decisionModels.secondOpinion(act);
    await eventually('it is reported', () => {
      context.report({ progress: { done: 1, total: 1 } }, { urgent: true });
      return bed.status('fix').run?.shadow?.answered === 43;
    });
  });
});
