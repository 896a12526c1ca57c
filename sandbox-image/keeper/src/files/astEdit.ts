import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  astBounds,
  astLanguages,
  maxFileBytes,
  syntaxBounds,
  type AstEditReport,
  type AstEditRequest,
  type AstLanguage,
} from '@agentfleet/protocol/keeper';
import { KeeperError } from '../failure.ts';
import { readWhole } from './read.ts';
import { languageOf, syntaxCheck, type SyntaxParser } from './syntax/index.ts';
import { writeFile, type WriteOptions } from './write.ts';

/** What a structural edit asks before it writes. */
export interface AstEditRules extends Omit<WriteOptions, 'mode'> {
  readonly parser: SyntaxParser;
  /** Lets so many bytes in. @throws KeeperError */
  readonly admit: (bytes: number) => Promise<void>;
}

/**
 * Replaces what matches a pattern in a file inside the roots; everything else stays byte for byte. The caller holds the gate.
 *
 * @throws KeeperError `AF_AST_PATTERN`, `AF_AST_UNAVAILABLE`, `AF_LANGUAGE_UNKNOWN`, `AF_EDIT_MATCH`, `AF_EDIT_STALE`, `AF_EDIT_SYNTAX`
 */
export async function astEditFile(roots: readonly string[], edit: AstEditRequest, rules: AstEditRules): Promise<AstEditReport> {
  for (const field of ['pattern', 'rewrite'] as const)
    if (!edit[field].isWellFormed()) throw new KeeperError('AF_INVALID', `${field}: it holds half of a surrogate pair`);
  const language = languageFor(edit);
  const content = await readWhole(roots, edit.path, syntaxBounds.fileBytes);
  const previousSha256 = sha256(content);
  if (edit.expectedSha256 !== undefined && edit.expectedSha256 !== previousSha256)
    throw new KeeperError('AF_EDIT_STALE', `${edit.path} has the SHA-256 ${previousSha256}, not ${edit.expectedSha256}`);
  if (!isUtf8(content)) throw new KeeperError('AF_FILE_BINARY', `${edit.path} is not UTF-8 text`);
  const { text, ...counts } = await rewritten(edit, language, content.toString('utf8'), rules.parser);
  const result = Buffer.from(text, 'utf8');
  if (result.length > maxFileBytes) throw new KeeperError('AF_TOO_LARGE', `${edit.path} would have ${result.length} bytes`);
  const check = syntaxCheck(rules.parser, edit.syntax ?? 'Check');
  const syntax = await check({ path: edit.path, before: content, after: result });
  const applied = edit.dryRun !== true;
  const told = { language, applied, ...counts, previousSha256, syntax };
  if (!applied) return { ...told, path: edit.path, sha256: sha256(result), bytes: result.length };
  await rules.admit(result.length);
  const { created: _created, ...written } = await writeFile(roots, edit.path, Readable.from([result]), { ...rules, mode: null });
  return { ...told, ...written };
}

function languageFor({ path, language }: AstEditRequest): AstLanguage {
  const known = language ?? astLanguages.find((each) => each === languageOf(path));
  if (known !== undefined) return known;
  throw new KeeperError('AF_LANGUAGE_UNKNOWN', `the name of ${path} tells none of ${astLanguages.join(', ')}`);
}

async function rewritten(edit: AstEditRequest, language: AstLanguage, text: string, parser: SyntaxParser) {
  const { path, pattern, rewrite, max = astBounds.matches } = edit;
  const answer = await parser.ask({ kind: 'Rewrite', grammar: language, text, pattern, rewrite, max });
  if (answer === null) throw new KeeperError('AF_AST_UNAVAILABLE', `${path} is too hard for the parser of ${language}`);
  if ('fault' in answer) throw new KeeperError('AF_AST_PATTERN', `pattern: ${answer.fault}`);
  if (answer.matches > 0) return answer;
  throw new KeeperError('AF_EDIT_MATCH', `the pattern matches nowhere in ${path} as ${language}`, {
    cure: 'look at the code that is meant, and make the pattern the whole of one expression or statement; nothing was written',
  });
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
