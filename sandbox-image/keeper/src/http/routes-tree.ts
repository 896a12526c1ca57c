import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { maxTreeBytes, treeHeaders, type TreeWritten } from '@agentfleet/protocol/keeper';
import { asKeeperError, KeeperError } from '../failure.ts';
import { measureTree, packTree, resolveFolder, TreeWriter, unpackTree, type TreeCounts } from '../files/index.ts';
import type { Keeper } from '../keeper.ts';
import { errorFields } from '../logger.ts';
import { bytesOf, weightOf } from '../snapshot/index.ts';
import { streamOf } from './body.ts';
import { noteRaw } from './redacted.ts';
import type { Validators } from './validation.ts';

/** What a small file takes on disk. */
const blockBytes = 4096;
/** Nothing moved for so long: the reader holds the gate for nothing. */
const idleMs = 30_000;

/** Whole trees. */
export function treeRoutes(app: FastifyInstance, keeper: Keeper, validators: Validators): void {
  app.put('/tree', { bodyLimit: maxTreeBytes }, (request) => putTree(keeper, request, validators));

  app.get('/tree', (request, reply) => getTree(keeper, request, reply, validators));
}

/** Sends a tree. Exclusive to its end, so that it is one state of the tree; a reader that stops reading is cut off. */
async function getTree(keeper: Keeper, request: FastifyRequest, reply: FastifyReply, validators: Validators): Promise<FastifyReply> {
  const { path } = validators.tree(request.query);
  const release = keeper.parts.gate.exclusive({ kind: 'tree export', name: path });
  try {
    const folder = await resolveFolder(keeper.roots, path, false);
    const { entries, bytes, skipped } = await measureTree(folder);
    const tar = Readable.from(packTree(folder), { objectMode: false });
    noteRaw(keeper, { what: 'Tree', name: folder });
    tar.once('close', release);
    cutOffWhenIdle(request, tar);
    const told = { [treeHeaders.entries]: entries, [treeHeaders.bytes]: bytes, [treeHeaders.skipped]: skipped };
    return await reply.type('application/x-tar').headers(told).send(tar);
  } catch (error) {
    release();
    throw error;
  }
}

function cutOffWhenIdle({ raw: { socket } }: FastifyRequest, tar: Readable): void {
  const cut = (): void => void socket.destroy();
  socket.setTimeout(idleMs, cut);
  tar.once('close', () => {
    socket.off('timeout', cut);
    socket.setTimeout(0);
  });
}

async function putTree(keeper: Keeper, request: FastifyRequest, validators: Validators): Promise<TreeWritten> {
  const { gate, log, logger, metrics, quota } = keeper.parts;
  const { path } = validators.tree(request.query);
  const tar = streamOf(request, 'application/x-tar');
  const release = gate.exclusive({ kind: 'tree import', name: path });
  const measure = (): void => quota.measureSoon((error) => logger.error('the roots could not be measured', errorFields(error)));
  let writer: TreeWriter | undefined;
  try {
    const folder = await resolveFolder(keeper.roots, path);
    writer = writerFor(keeper, request.epoch, folder);
    const sha256 = await unpackTree(tar, writer);
    log.append('TreeWritten', { path: folder, ...writer.counts, sha256 });
    metrics.trees.inc({ result: 'ok' });
    return { path: folder, ...writer.counts };
  } catch (error) {
    metrics.trees.inc({ result: 'failed' });
    const failure = asKeeperError(error);
    if (writer !== undefined) log.append('TreeWritten', { path, ...writer.counts, sha256: null, why: failure.message });
    throw withCounts(failure, writer?.counts);
  } finally {
    release();
    measure();
  }
}

function writerFor({ parts: { fence, quota } }: Keeper, epoch: number, folder: string): TreeWriter {
  return new TreeWriter(bytesOf(folder), {
    assertMayWrite: () => fence.assert(epoch),
    admit: async (path, bytes) => {
      const onDisk = Math.max(1, Math.ceil(bytes / blockBytes)) * blockBytes;
      await quota.assertWithin(onDisk, weightOf(path));
      quota.charge(onDisk, weightOf(path));
    },
  });
}

/** A tree is not written at once: whoever is refused must know what stands there now. */
function withCounts(failure: KeeperError, counts: TreeCounts | undefined): KeeperError {
  if (counts === undefined || counts.files + counts.folders + counts.links === 0) return failure;
  const written = `${counts.files} files, ${counts.folders} folders and ${counts.links} links were written before that`;
  const cure = `${failure.cure}; restore a snapshot to undo what was written`;
  return new KeeperError(failure.code, `${failure.message}; ${written}`, { cure, cause: failure });
}
