import type { FastifyInstance, FastifyRequest } from 'fastify';
import {
  type RangeQuery,
  type RestoreReport,
  type SnapshotRecord,
  type TreeDiff,
  maxLogBytes,
  maxManifestBytes,
  maxPartsBytes,
  rollbackLabel,
} from '@agentfleet/protocol/keeper';
import { externalEffects } from '../durable/snapshots.ts';
import { KeeperError, asKeeperError, messageOf } from '../base/failure.ts';
import type { Holder, Release } from '../base/gate.ts';
import type { Keeper } from '../keeper/keeper.ts';
import { hideKeyLines } from '@agentfleet/protocol/redact';
import { CURRENT, manifestText } from '../snapshot/index.ts';
import { holdUntilRead, noteRaw, redacted, streamOf, wholeOf } from './bodies.ts';
import type { Validators } from './validation.ts';
import { exportParts } from '../durable/index.ts';

interface ById {
  readonly Params: { readonly id: string };
}

/** Snapshots: take, list, restore, compare, undo. */
export function snapshotRoutes(app: FastifyInstance, keeper: Keeper, validators: Validators): void {
  const { log, snapshots } = keeper.parts;

  app.get('/snapshots', () => ({ items: snapshots.list() }));

  app.post('/snapshots', async (request, reply) => {
    const { label } = validators.snapshot(request.body ?? {});
    return reply.code(201).send(await take(keeper, request.epoch, label));
  });

  app.post<ById>('/snapshots/:id/restore', (request) => restore(keeper, request.epoch, request.params.id));

  app.get('/diff', (request) => compare(keeper, validators.range(request.query)));

  app.get('/revert', async (request, reply) => {
    const { from, to } = validators.range(request.query);
    const release = to === CURRENT ? unchanged(keeper, { kind: 'revert bundle', name: `${from}..${to}` }) : nothing;
    try {
      const tar = await snapshots.revertBundle(from, to, await externalEffects(log, from, to));
      holdUntilRead(keeper, request, tar, release);
      noteRaw(keeper, { what: 'RevertBundle', name: `${from}..${to}` });
      return await reply.type('application/x-tar').send(tar);
    } catch (error) {
      release();
      throw error;
    }
  });
}

const nothing = (): void => undefined;

/** Holds the tree against writers. A layer that will be unmounted must not be in use by readers either. */
function unchanged({ parts: { config, gate } }: Keeper, holder: Holder): Release {
  return config.snapshotEngine === 'Overlay' ? gate.exclusive(holder) : gate.still(holder);
}

/** Compares snapshots; the current tree is read while nothing writes. */
export async function compare(keeper: Keeper, { from, to, redaction }: RangeQuery & { readonly to: string }): Promise<TreeDiff> {
  const { snapshots } = keeper.parts;
  const release = to === CURRENT ? unchanged(keeper, { kind: 'comparison', name: `${from}..${to}` }) : nothing;
  // A hunk shows some lines of a key, and not its header.
  const hide = redaction === 'Raw' ? undefined : hideKeyLines;
  const diff = await snapshots.diff(from, to, hide).finally(release);
  return redacted(keeper, { what: 'Diff', name: `${from}..${to}`, redaction }, diff);
}

export async function take(keeper: Keeper, epoch: number, label: string | undefined): Promise<SnapshotRecord> {
  const { adoptions, config, fence, log, metrics, sessions } = keeper.parts;
  const release = unchanged(keeper, { kind: 'snapshot', name: label ?? '' });
  try {
    fence.assert(epoch);
    // The staged contents are at the end of the store, where the snapshot's will be.
    await adoptions.preempt();
    // A frozen shell writes nothing, but its working directory is in the layer that will be unmounted.
    if (config.snapshotEngine === 'Overlay') await sessions.endShells();
    const record = await takeOrFree(keeper, label);
    const { skipped, ...reported } = record;
    log.append('SnapshotTaken', { ...reported, skipped: skipped.length });
    metrics.snapshots.inc({ result: 'ok' });
    return record;
  } catch (error) {
    metrics.snapshots.inc({ result: 'failed' });
    throw error;
  } finally {
    release();
  }
}

/** Takes a snapshot; without room it is retried once after old output is removed. */
async function takeOrFree({ parts: { reserve, room, snapshots } }: Keeper, label: string | undefined): Promise<SnapshotRecord> {
  const claim = label?.startsWith(rollbackLabel) === true ? 'Rollback' : 'Snapshot';
  const take = async (): Promise<SnapshotRecord> =>
    snapshots.take({ ...(label !== undefined && { label }), maxBytes: await reserve.freeBytes(claim, 0) });
  try {
    return await take();
  } catch (error) {
    if (asKeeperError(error).code !== 'AF_STORE_FULL' || (await room.free()) === 0) throw error;
    return take();
  }
}

export async function restore(keeper: Keeper, epoch: number, id: string): Promise<RestoreReport> {
  const { fence, log, metrics, quota, sessions, snapshots } = keeper.parts;
  const release = unchanged(keeper, { kind: 'restore', name: id });
  try {
    fence.assert(epoch);
    // The state of their shells belongs to the time that is reverted.
    await sessions.closeAll('Restored');
    const intent = (): Promise<unknown> => log.commit('SnapshotRestored', { id, phase: 'Intent' });
    // The first try on a full volume releases the reserve, which exists for this.
    await intent().catch((error: unknown) => (asKeeperError(error).code === 'AF_STORE_FULL' ? intent() : Promise.reject(error)));
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
    quota.measureSoon();
  }
}

const requestBytes = 8 * 1024 * 1024;
const octets = 'application/octet-stream';

/** Routes for export to a durable store, and for adoption from one. */
export function durableRoutes(app: FastifyInstance, keeper: Keeper, validators: Validators): void {
  const { adoptions, snapshots } = keeper.parts;

  app.get<ById>('/snapshots/:id/manifest', async (request, reply) => {
    const { entries } = await snapshots.manifest(request.params.id);
    return reply.type(octets).send(manifestText(entries));
  });

  app.post('/objects', { bodyLimit: requestBytes }, async (request, reply) =>
    reply.type(octets).send(await exportParts(validators.parts(request.body), snapshots)),
  );

  app.post('/adoption', async (request, reply) => reply.code(201).send(await adopting(keeper, request, () => adoptions.begin())));

  app.delete('/adoption', (request) => adopting(keeper, request, () => adoptions.drop()));

  app.put('/adoption/log', { bodyLimit: maxLogBytes }, (request) =>
    adopting(keeper, request, () => adoptions.log(streamOf(request, octets))),
  );

  app.put('/adoption/objects', { bodyLimit: maxPartsBytes }, (request) =>
    adopting(keeper, request, async () => adoptions.objects(await wholeOf(streamOf(request, octets), maxPartsBytes))),
  );

  app.put<ById>('/adoption/manifests/:id', { bodyLimit: maxManifestBytes }, (request) =>
    adopting(keeper, request, () => adoptions.manifest(snapshotId(request.params.id), streamOf(request, octets))),
  );

  app.post('/adoption/commit', { bodyLimit: requestBytes }, (request) =>
    adopting(keeper, request, () => adoptions.commit(validators.adoption(request.body))),
  );
}

/** Meanwhile this keeper must not begin a history of its own. */
async function adopting<T>({ parts: { fence, gate } }: Keeper, request: FastifyRequest, step: () => Promise<T>): Promise<T | object> {
  const release = gate.exclusive({ kind: 'adoption', name: '' });
  try {
    fence.assert(request.epoch);
    return (await step()) ?? {};
  } finally {
    release();
  }
}

function snapshotId(id: string): string {
  if (/^s\d{4,12}$/.test(id)) return id;
  throw new KeeperError('AF_INVALID', 'id: it must be the id of a snapshot');
}
