import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  type AstEditReport,
  type AstEditRequest,
  type FileLines,
  type FileList,
  type FileReplaced,
  type FileWritten,
  type LinesQuery,
  type ListQuery,
  type PatchReport,
  type PatchRequest,
  type ReplaceRequest,
  type SearchQuery,
  type SearchResult,
  type SyntaxMode,
  type TreeWritten,
  editBounds,
  maxFileBytes,
  maxTreeBytes,
  patchBounds,
  syntaxBounds,
  treeHeaders,
} from '@agentfleet/protocol/keeper';
import { KeeperError, asKeeperError } from '../base/failure.ts';
import {
  type TreeCounts,
  TreeWriter,
  type WriteOptions,
  astEditFile,
  listFiles,
  measureTree,
  openFile,
  packTree,
  readLines,
  replaceInFile,
  resolveFolder,
  searchFiles,
  syntaxCheck,
  unpackTree,
  writeChecked,
  writeFile,
} from '../files/index.ts';
import type { Keeper } from '../keeper/keeper.ts';
import { holdUntilRead, noteRaw, redacted, sendRedacted, streamOf } from './bodies.ts';
import type { Validators } from './validation.ts';
import { answered, applyPatch, parsePatch } from '../files/patch/index.ts';
import { bytesOf, weightOf } from '../snapshot/index.ts';
import { hideKeyLines } from '@agentfleet/protocol/redact';

export function fileRoutes(app: FastifyInstance, keeper: Keeper, validators: Validators): void {
  const { gate } = keeper.parts;

  app.get('/files', async (request, reply) => {
    const { path, redaction } = validators.file(request.query);
    const release = gate.reading({ kind: 'file transfer', name: path });
    // The path is checked under the gate; the file opened after that stays the one that was checked.
    const file = await openFile(keeper.roots, path).finally(release);
    return sendRedacted(keeper, { what: 'Bytes', name: path, redaction }, file, reply);
  });

  app.put('/files', { bodyLimit: maxFileBytes }, (request) => put(keeper, request, validators));
}

async function put(keeper: Keeper, request: FastifyRequest, validators: Validators): Promise<FileWritten> {
  const { path, mode, syntax } = validators.file(request.query);
  const stream = streamOf(request, 'application/octet-stream');
  const bytes = announcedBytes(request);
  // An upload is stored unchanged: it is read whole only when the caller requests a check and it is no larger than an
  // edit.
  const checked = syntax === 'Check' && bytes <= editBounds.fileBytes;
  const content = checked ? await buffer(stream) : stream;
  return writeWhole(keeper, { epoch: request.epoch, path, mode, content, bytes, syntax: checked ? 'Check' : undefined });
}

/** A file to write: bytes in memory, or a stream of them, which cannot be checked. */
interface WholeFile {
  readonly epoch: number;
  readonly path: string;
  readonly mode: string | undefined;
  readonly content: Buffer | Readable;
  readonly bytes: number;
  /** Undefined: the answer has no syntax report. */
  readonly syntax: SyntaxMode | undefined;
}

/** Writes a file under the gate. @throws KeeperError */
export async function writeWhole(keeper: Keeper, { epoch, path, mode, content, bytes, syntax }: WholeFile): Promise<FileWritten> {
  const { gate, fence, log, quota, staged, syntax: parser, transfers } = keeper.parts;
  await quota.assertWithin(bytes);
  const held = gate.shared({ kind: 'file transfer', name: path });
  const release = Buffer.isBuffer(content) ? held : transfers.begin(epoch, held, () => content.destroy());
  try {
    const options: WriteOptions = {
      mode: mode === undefined ? null : Number.parseInt(mode, 8),
      staged,
      beforeCommit: () => fence.assert(epoch),
    };
    const checked = Buffer.isBuffer(content) && syntax !== undefined;
    const written = checked
      ? await writeChecked(keeper.roots, path, content, { ...options, checkSyntax: syntaxCheck(parser, syntax) })
      : await writeFile(keeper.roots, path, Buffer.isBuffer(content) ? Readable.from([content]) : content, options);
    quota.charge(written.bytes);
    log.append('FileWritten', { ...written });
    return written;
  } finally {
    release();
  }
}

/** Declared size of the body; the limit is checked again while it is read. */
function announcedBytes(request: FastifyRequest): number {
  const bytes = Number(request.headers['content-length'] ?? 0);
  if (bytes > maxFileBytes) throw new KeeperError('AF_TOO_LARGE', `the content has ${bytes} bytes, ${maxFileBytes} are allowed`);
  return bytes;
}

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

/** Replaces one text of a file by another. Exclusive: no other writer may come between reading and writing. */
export async function replaceText(keeper: Keeper, epoch: number, edit: ReplaceRequest): Promise<FileReplaced> {
  const { gate, fence, log, quota, staged, syntax } = keeper.parts;
  await quota.assertWithin(Buffer.byteLength(edit.new));
  const release = gate.exclusive({ kind: 'edit', name: edit.path });
  try {
    const checkSyntax = syntaxCheck(syntax, edit.syntax ?? 'Check');
    const written = await replaceInFile(keeper.roots, edit, { staged, checkSyntax, beforeCommit: () => fence.assert(epoch) });
    quota.charge(Buffer.byteLength(edit.new));
    log.append('FileWritten', { ...written, how: 'Replace' });
    return written;
  } finally {
    release();
  }
}

/** Changes code by its structure. Exclusive as {@link replaceText}. */
export async function editTree(keeper: Keeper, epoch: number, edit: AstEditRequest): Promise<AstEditReport> {
  const { gate, fence, log, quota, staged, syntax } = keeper.parts;
  const release = gate.exclusive({ kind: 'edit', name: edit.path });
  try {
    const { snippets, ...report } = await astEditFile(keeper.roots, edit, {
      staged,
      parser: syntax,
      admit: (bytes) => quota.assertWithin(bytes),
      beforeCommit: () => fence.assert(epoch),
    });
    const { path, sha256, bytes, replaced } = report;
    if (report.applied) {
      quota.charge(bytes);
      log.append('FileWritten', { path, sha256, bytes, created: false, syntax: report.syntax, replaced, how: 'AstEdit' });
    }
    // Snippets quote the file: they go to the author of the pattern.
    const shown = redacted(keeper, { what: 'Lines', name: path, redaction: 'Redact' }, { snippets });
    return { ...report, snippets: shown.snippets };
  } finally {
    release();
  }
}

/** Applies a diff, or repeats the answer to the same request. */
export async function patchFiles(keeper: Keeper, epoch: number, request: PatchRequest): Promise<PatchReport> {
  const { clock, gate, fence, log, patches, quota, random, room, syntax } = keeper.parts;
  const parsed = parsePatch(request);
  const known = await answered(patches, parsed);
  if (known !== null) return known;
  if (!(await room.ready('Command'))) throw new KeeperError('AF_STORE_FULL', 'the store has no room for the record of a patch');
  const release = gate.exclusive({ kind: 'patch', name: parsed.request.requestId });
  try {
    // Checked again: the same request may have been served while this one waited for the store.
    const meanwhile = await answered(patches, parsed);
    if (meanwhile !== null) return meanwhile;
    const began = clock.monotonic();
    return await applyPatch(keeper.roots, parsed, patches, {
      random,
      checkSyntax: syntaxCheck(syntax, request.syntax ?? 'Check'),
      timeIsLeft: () => clock.monotonic() - began < syntaxBounds.patchMillis,
      admit: (bytes, paths) =>
        quota.admit(
          bytes,
          paths.reduce((sum, path) => sum + weightOf(path), 0),
        ),
      assertMayWrite: () => fence.assert(epoch),
      record: async (body) => void (await log.commit('PatchApplied', body)),
    });
  } finally {
    release();
  }
}

/** Disk space of a small file. */
const blockBytes = 4096;

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
    holdUntilRead(keeper, request, tar, release);
    noteRaw(keeper, { what: 'Tree', name: folder });
    const headers = { [treeHeaders.entries]: entries, [treeHeaders.bytes]: bytes, [treeHeaders.skipped]: skipped };
    return await reply.type('application/x-tar').headers(headers).send(tar);
  } catch (error) {
    release();
    throw error;
  }
}

async function putTree(keeper: Keeper, request: FastifyRequest, validators: Validators): Promise<TreeWritten> {
  const { gate, log, metrics, quota, transfers } = keeper.parts;
  const { path } = validators.tree(request.query);
  const tar = streamOf(request, 'application/x-tar');
  const held = gate.exclusive({ kind: 'tree import', name: path });
  const release = transfers.begin(request.epoch, held, () => tar.destroy());
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
    quota.measureSoon();
  }
}

function writerFor({ parts: { fence, quota } }: Keeper, epoch: number, folder: string): TreeWriter {
  return new TreeWriter(bytesOf(folder), {
    assertMayWrite: () => fence.assert(epoch),
    admit: (path, bytes) => quota.admit(Math.max(1, Math.ceil(bytes / blockBytes)) * blockBytes, weightOf(path)),
  });
}

/** A tree is not written atomically: a refusal must report what has been written. */
function withCounts(failure: KeeperError, counts: TreeCounts | undefined): KeeperError {
  if (counts === undefined || counts.files + counts.folders + counts.links === 0) return failure;
  const written = `${counts.files} files, ${counts.folders} folders and ${counts.links} links were written before that`;
  const cure = `${failure.cure}; restore a snapshot to undo what was written`;
  return new KeeperError(failure.code, `${failure.message}; ${written}`, { cure, cause: failure });
}

/** Reading routes of the roots: lists, lines, search. They share the gate, so that nothing changes meanwhile. */
export function lookRoutes(app: FastifyInstance, keeper: Keeper, validators: Validators): void {
  app.get('/files/list', (request) => list(keeper, validators.list(request.query)));
  app.get('/files/lines', (request) => lines(keeper, validators.lines(request.query)));
  app.get('/files/search', (request, reply) => {
    const query = validators.search(request.query);
    const left = new AbortController();
    reply.raw.once('close', () => left.abort());
    return search(keeper, query, left.signal);
  });
}

export async function list(keeper: Keeper, { redaction, ...query }: ListQuery): Promise<FileList> {
  const release = keeper.parts.gate.shared({ kind: 'file list', name: query.path });
  const found = await listFiles(keeper.roots, query).finally(release);
  return redacted(keeper, { what: 'List', name: query.path, redaction }, found);
}

export async function lines(keeper: Keeper, { redaction, ...query }: LinesQuery): Promise<FileLines> {
  const release = keeper.parts.gate.reading({ kind: 'file transfer', name: query.path });
  // Lines from the middle of a key do not show what they are.
  const read = await readLines(keeper.roots, query, redaction === 'Raw' ? undefined : hideKeyLines).finally(release);
  keeper.parts.syntax.warm(query.path);
  return redacted(keeper, { what: 'Lines', name: query.path, redaction }, read);
}

/** The signal fires when the caller no longer waits for the answer. */
export async function search(keeper: Keeper, { redaction, ...query }: SearchQuery, signal: AbortSignal): Promise<SearchResult> {
  const { clock, gate } = keeper.parts;
  const redacting = keeper.parts.redaction.open();
  const hide = { text: hideKeyLines, line: (line: string) => redacting.text(line) };
  const release = gate.reading({ kind: 'search', name: query.path });
  const options = { clock, signal, ...(redaction !== 'Raw' && { hide }) };
  const found = await searchFiles(keeper.roots, query, options).finally(release);
  return redacted(keeper, { what: 'Search', name: query.path, redaction }, found, redacting);
}
