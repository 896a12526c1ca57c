import type { FastifyInstance, FastifyRequest } from 'fastify';
import { editBounds, patchBounds, type FileReplaced, type PatchReport } from '@agentfleet/protocol/keeper';
import { KeeperError } from '../failure.ts';
import { replaceInFile } from '../files/index.ts';
import { answered, applyPatch, parsePatch } from '../files/patch/index.ts';
import type { Keeper } from '../keeper.ts';
import { weightOf } from '../snapshot/index.ts';
import type { Validators } from './validation.ts';

/** Room for the largest texts with every character escaped. */
const replaceBody = 2 * 6 * editBounds.textBytes + 64 * 1024;
const patchBody = 2 * patchBounds.diffBytes + 1024 * 1024;

/** Changes inside of files. */
export function editRoutes(app: FastifyInstance, keeper: Keeper, validators: Validators): void {
  app.post('/files/replace', { bodyLimit: replaceBody }, (request) => replace(keeper, request, validators));
  app.post('/files/patch', { bodyLimit: patchBody }, (request) => patch(keeper, request, validators));
}

/** Puts one text of a file in the place of another. Exclusive: between reading and writing nobody else may write. */
async function replace(keeper: Keeper, request: FastifyRequest, validators: Validators): Promise<FileReplaced> {
  const { gate, fence, log, quota, random } = keeper.parts;
  const edit = validators.replace(request.body);
  await quota.assertWithin(Buffer.byteLength(edit.new));
  const release = gate.exclusive({ kind: 'edit', name: edit.path });
  try {
    const written = await replaceInFile(keeper.roots, edit, { random, beforeCommit: () => fence.assert(request.epoch) });
    quota.charge(Buffer.byteLength(edit.new));
    log.append('FileWritten', { ...written, how: 'Replace' });
    return written;
  } finally {
    release();
  }
}

/** Applies a diff, or answers again what it answered to the same request. */
async function patch(keeper: Keeper, request: FastifyRequest, validators: Validators): Promise<PatchReport> {
  const { gate, fence, log, patches, quota, random, reserve } = keeper.parts;
  const parsed = parsePatch(validators.patch(request.body));
  const known = await answered(patches, parsed);
  if (known !== null) return known;
  if (!(await reserve.ready())) throw new KeeperError('AF_STORE_FULL', 'the store has no room for the record of a patch');
  const release = gate.exclusive({ kind: 'patch', name: parsed.request.requestId });
  try {
    // Once more: the same request may have come and gone while this one waited for the store.
    const meanwhile = await answered(patches, parsed);
    if (meanwhile !== null) return meanwhile;
    return await applyPatch(keeper.roots, parsed, patches, {
      random,
      admit: async (bytes, paths) => {
        const weight = paths.reduce((sum, path) => sum + weightOf(path), 0);
        await quota.assertWithin(bytes, weight);
        quota.charge(bytes, weight);
      },
      assertMayWrite: () => fence.assert(request.epoch),
      record: async (body) => void (await log.commit('PatchApplied', body)),
    });
  } finally {
    release();
  }
}
