// protocol, keeper: syntax check of edits, and structural edits (`/v1/files/ast-edit`). May import environment alone.
import { Type, type Static } from 'typebox';
import { closed } from '../object.ts';
import { path, sha256 } from './schema.ts';

/** Languages whose files are parsed before an edit of them is written. JSON is read by the standard's own grammar. */
export const syntaxLanguages = ['python', 'javascript', 'typescript', 'tsx', 'bash', 'go', 'java', 'rust', 'json'] as const;
export type SyntaxLanguage = (typeof syntaxLanguages)[number];

/** Languages that {@link AstEditRequest} rewrites. */
export const astLanguages = ['python', 'javascript', 'typescript', 'tsx', 'go', 'java', 'rust'] as const;
export type AstLanguage = (typeof astLanguages)[number];

/** Bounds of parsing: a larger file, or one that takes longer, is not checked. Bytes, characters, milliseconds. */
export const syntaxBounds = { fileBytes: 512 * 1024, bashBytes: 32 * 1024, millis: 3000, patchMillis: 10_000 } as const;

/** Bounds of one structural edit. */
export const astBounds = { patternChars: 8192, matches: 10_000, snippets: 20, snippetChars: 400 } as const;

/** Mode of an edit: `Check` refuses (AF_EDIT_SYNTAX) what would add syntax errors to a file of a known language. */
export const SyntaxMode = Type.Enum(['Check', 'Skip'], { description: 'default Check: an edit that adds syntax errors is refused' });
export type SyntaxMode = Static<typeof SyntaxMode>;

/** Result of the check. `NotChecked`: no known language, no UTF-8, over the bounds, or an error that was there before hides more. */
export type SyntaxVerdict = 'Checked' | 'NotChecked' | 'Skipped';

/**
 * Body of `POST /v1/files/ast-edit`: a structural search and replace. In pattern and rewrite `$NAME` stands for one node of
 * the syntax tree (the same name: the same text), `$_` for any, `$$$NAME` for any number of neighbours. Matches do not
 * overlap: what stands inside of one is left as it is. Only the matched texts are replaced.
 */
export const AstEditRequest = closed({
  path,
  language: Type.Optional(Type.Enum([...astLanguages], { description: 'default: by the name of the file' })),
  pattern: Type.String({ minLength: 1, maxLength: astBounds.patternChars, description: 'code of one node with $NAME and $$$NAME' }),
  rewrite: Type.String({ maxLength: astBounds.patternChars, description: 'what takes its place, with the same names' }),
  max: Type.Optional(Type.Integer({ minimum: 1, maximum: astBounds.matches, description: 'replace so many at most; default all' })),
  expectedSha256: Type.Optional({ ...sha256, description: 'of the whole file; another content is refused (AF_EDIT_STALE)' }),
  syntax: Type.Optional(SyntaxMode),
  dryRun: Type.Optional(Type.Boolean({ description: 'say what would be done; nothing is written or recorded' })),
});
export type AstEditRequest = Static<typeof AstEditRequest>;

/** Answer of `POST /v1/files/ast-edit`. Hashes and sizes are of what is, or would be, on the disk. */
export interface AstEditReport {
  readonly path: string;
  readonly language: AstLanguage;
  readonly applied: boolean;
  /** Places that match, and those of them that were replaced. */
  readonly matches: number;
  readonly replaced: number;
  readonly previousSha256: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly syntax: SyntaxVerdict;
  /** The first replaced places: line from 1, texts cut at 400 characters. */
  readonly snippets: readonly { readonly line: number; readonly before: string; readonly after: string }[];
}
