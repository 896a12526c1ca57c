import type { FastifyInstance } from 'fastify';
import type { DiffEntry, RangeQuery, RestoreReport, SnapshotRecord, TreeDiff } from '@agentfleet/protocol/keeper';
import { externalEffects } from '../externalEffects.ts';
import { messageOf } from '../failure.ts';
import type { Keeper } from '../keeper.ts';
import { errorFields } from '../logger.ts';
import { CURRENT, type TreeDiff as EngineDiff } from '../snapshot/index.ts';
import { noteRaw, redacted } from './redacted.ts';
import type { Validators } from './validation.ts';

interface ById {
  readonly Params: { readonly id: string };
}

/** Snapshots: take, list, restore, compare, undo. */
export function snapshotRoutes(app: FastifyInstance, keeper: Keeper, validators: Validators): void {
  const { gate, log, snapshots } = keeper.parts;

  app.get('/snapshots', () => ({ items: snapshots.list() }));

  app.post('/snapshots', async (request, reply) => {
    const { label } = validators.snapshot(request.body ?? {});
    return reply.code(201).send(await take(keeper, request.epoch, label));
  });

  app.post<ById>('/snapshots/:id/restore', (request) => restore(keeper, request.epoch, request.params.id));

  app.get('/diff', (request) => compare(keeper, validators.range(request.query)));

  app.get('/revert', async (request, reply) => {
    const { from, to } = validators.range(request.query);
    const release = to === CURRENT ? gate.exclusive({ kind: 'revert bundle', name: `${from}..${to}` }) : nothing;
    try {
      const tar = await snapshots.revertBundle(from, to, await externalEffects(log, from, to));
      tar.once('close', release);
      noteRaw(keeper, { what: 'RevertBundle', name: `${from}..${to}` });
      return await reply.type('application/x-tar').send(tar);
    } catch (error) {
      release();
      throw error;
    }
  });
}

const nothing = (): void => undefined;

/** What differs; of the tree as it is, exclusively. */
export async function compare(keeper: Keeper, { from, to, redaction }: RangeQuery & { readonly to: string }): Promise<TreeDiff> {
  const { gate, snapshots } = keeper.parts;
  const release = to === CURRENT ? gate.exclusive({ kind: 'comparison', name: `${from}..${to}` }) : nothing;
  const told = treeDiff(await snapshots.diff(from, to).finally(release));
  return redacted(keeper, { what: 'Diff', name: `${from}..${to}`, redaction }, told);
}

export async function take(keeper: Keeper, epoch: number, label: string | undefined): Promise<SnapshotRecord> {
  const { config, fence, gate, log, metrics, reserve, sessions, snapshots } = keeper.parts;
  const release = gate.exclusive({ kind: 'snapshot', name: label ?? '' });
  try {
    const maxBytes = await reserve.freeBytes(0);
    fence.assert(epoch);
    // A frozen shell writes nothing, but it stands in the layer that is put away.
    if (config.snapshotEngine === 'Overlay') await sessions.endShells();
    const record = await snapshots.take({ ...(label === undefined ? {} : { label }), maxBytes });
    const { skipped, ...told } = record;
    log.append('SnapshotTaken', { ...told, skipped: skipped.length });
    metrics.snapshots.inc({ result: 'ok' });
    return record;
  } catch (error) {
    metrics.snapshots.inc({ result: 'failed' });
    throw error;
  } finally {
    release();
  }
}

export async function restore(keeper: Keeper, epoch: number, id: string): Promise<RestoreReport> {
  const { fence, gate, log, logger, metrics, quota, sessions, snapshots } = keeper.parts;
  const release = gate.exclusive({ kind: 'restore', name: id });
  try {
    fence.assert(epoch);
    // What their shells remember is of a time that is taken back.
    await sessions.closeAll('Restored');
    await log.commit('SnapshotRestored', { id, phase: 'Intent' });
    fence.assert(epoch);
    const report = await snapshots.restore(id);
    log.append('SnapshotRestored', { ...report, phase: 'Done' });
    metrics.restores.inc({ result: 'ok' });
    return report;
  } catch (error) {
    metrics.restores.inc({ result: 'failed' });
    log.append('SnapshotRestored', { id, phase: 'Failed', why: messageOf(error) });
    throw error;
  } finally {
    release();
    quota.measureSoon((error) => logger.error('the roots could not be measured', errorFields(error)));
  }
}

/** The engine's comparison as the contract has it: modes as numbers, absent members left out. */
function treeDiff({ from, to, changes, unified }: EngineDiff): TreeDiff {
  const mode = (text: string | null): number | null => (text === null ? null : Number.parseInt(text, 8));
  const entries = changes.map((change): DiffEntry => {
    const all = { modeFrom: mode(change.modeFrom), modeTo: mode(change.modeTo), sizeFrom: change.sizeFrom, sizeTo: change.sizeTo };
    const present = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null));
    return { path: change.path, op: change.op, ...present };
  });
  return { from, to, entries, unified };
}
