import type { FastifyInstance } from 'fastify';
import {
  editBounds,
  patchBounds,
  syntaxBounds,
  type AstEditReport,
  type AstEditRequest,
  type FileReplaced,
  type PatchReport,
  type PatchRequest,
  type ReplaceRequest,
} from '@agentfleet/protocol/keeper';
import { KeeperError } from '../failure.ts';
import { astEditFile, replaceInFile, syntaxCheck } from '../files/index.ts';
import { answered, applyPatch, parsePatch } from '../files/patch/index.ts';
import type { Keeper } from '../keeper.ts';
import { weightOf } from '../snapshot/index.ts';
import { redacted } from './redacted.ts';
import type { Validators } from './validation.ts';

/** Room for the largest texts with every character escaped. */
const replaceBody = 2 * 6 * editBounds.textBytes + 64 * 1024;
const patchBody = 2 * patchBounds.diffBytes + 1024 * 1024;
const astBody = 256 * 1024;

/** Changes inside of files. */
export function editRoutes(app: FastifyInstance, keeper: Keeper, validators: Validators): void {
  app.post('/files/replace', { bodyLimit: replaceBody }, ({ body, epoch }) => replaceText(keeper, epoch, validators.replace(body)));
  app.post('/files/patch', { bodyLimit: patchBody }, ({ body, epoch }) => patchFiles(keeper, epoch, validators.patch(body)));
  app.post('/files/ast-edit', { bodyLimit: astBody }, ({ body, epoch }) => editTree(keeper, epoch, validators.astEdit(body)));
}

/** Puts one text of a file in the place of another. Exclusive: between reading and writing nobody else may write. */
export async function replaceText(keeper: Keeper, epoch: number, edit: ReplaceRequest): Promise<FileReplaced> {
  const { gate, fence, log, quota, random, syntax } = keeper.parts;
  await quota.assertWithin(Buffer.byteLength(edit.new));
  const release = gate.exclusive({ kind: 'edit', name: edit.path });
  try {
    const checkSyntax = syntaxCheck(syntax, edit.syntax ?? 'Check');
    const written = await replaceInFile(keeper.roots, edit, { random, checkSyntax, beforeCommit: () => fence.assert(epoch) });
    quota.charge(Buffer.byteLength(edit.new));
    log.append('FileWritten', { ...written, how: 'Replace' });
    return written;
  } finally {
    release();
  }
}

/** Changes code by its structure. Exclusive as {@link replaceText}. */
export async function editTree(keeper: Keeper, epoch: number, edit: AstEditRequest): Promise<AstEditReport> {
  const { gate, fence, log, quota, random, syntax } = keeper.parts;
  const release = gate.exclusive({ kind: 'edit', name: edit.path });
  try {
    const { snippets, ...report } = await astEditFile(keeper.roots, edit, {
      random,
      parser: syntax,
      admit: (bytes) => quota.assertWithin(bytes),
      beforeCommit: () => fence.assert(epoch),
    });
    const { path, sha256, bytes, replaced } = report;
    if (report.applied) {
      quota.charge(bytes);
      log.append('FileWritten', { path, sha256, bytes, created: false, syntax: report.syntax, replaced, how: 'AstEdit' });
    }
    // Snippets are what stands in the file: they go to whoever thought of the pattern.
    const shown = redacted(keeper, { what: 'Lines', name: path, redaction: 'Redact' }, { snippets });
    return { ...report, snippets: shown.snippets };
  } finally {
    release();
  }
}

/** Applies a diff, or answers again what it answered to the same request. */
export async function patchFiles(keeper: Keeper, epoch: number, request: PatchRequest): Promise<PatchReport> {
  const { clock, gate, fence, log, patches, quota, random, room, syntax } = keeper.parts;
  const parsed = parsePatch(request);
  const known = await answered(patches, parsed);
  if (known !== null) return known;
  if (!(await room.ready('Command'))) throw new KeeperError('AF_STORE_FULL', 'the store has no room for the record of a patch');
  const release = gate.exclusive({ kind: 'patch', name: parsed.request.requestId });
  try {
    // Once more: the same request may have come and gone while this one waited for the store.
    const meanwhile = await answered(patches, parsed);
    if (meanwhile !== null) return meanwhile;
    const began = clock.now();
    return await applyPatch(keeper.roots, parsed, patches, {
      random,
      checkSyntax: syntaxCheck(syntax, request.syntax ?? 'Check'),
      patience: () => clock.now() - began < syntaxBounds.patchMillis,
      admit: async (bytes, paths) => {
        const weight = paths.reduce((sum, path) => sum + weightOf(path), 0);
        await quota.assertWithin(bytes, weight);
        quota.charge(bytes, weight);
      },
      assertMayWrite: () => fence.assert(epoch),
      record: async (body) => void (await log.commit('PatchApplied', body)),
    });
  } finally {
    release();
  }
}
