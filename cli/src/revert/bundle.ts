import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { extract } from 'tar-stream';
import { fieldsOf, listOf, textOf } from '../evidence/fields.ts';
import { CliError } from '../failure.ts';

/** One path that the task changed, as it was before (`From`). */
export interface ChangedPath {
  /** Root, slash, path; bytes that are no text as `%XX`. */
  readonly path: string;
  readonly op: 'A' | 'M' | 'D' | 'T';
  readonly type: string;
  readonly modeFrom: string | null;
  readonly sizeFrom: number | null;
}

/** One effect outside of the sandbox, which no script of ours takes back: `undo` is a line for the task's own workspace. */
export interface ExternalEffect {
  readonly target: string;
  readonly state: string;
  readonly undo: string | null;
  readonly why: string;
}

/** `description.json` of a revert bundle. */
export interface Description {
  readonly from: string;
  readonly to: string;
  readonly roots: readonly string[];
  readonly ops: readonly ChangedPath[];
  readonly irreversible: readonly { readonly path: string; readonly reason: string }[];
  readonly neverReverted: readonly string[];
  /** What acts did outside of the sandbox; none in a bundle of an older keeper. */
  readonly external: readonly ExternalEffect[];
}

/** All that a bundle may hold: what is unpacked here is run here. */
const member = /^(?:revert\.sh|redo\.sh|description\.json|objects\/[0-9a-f]{64})$/;

/** Unpacks a bundle into a folder and returns its description. @throws CliError for what no keeper makes */
export async function unpackBundle(tar: Buffer, folder: string): Promise<Description> {
  const files = new Map<string, Buffer>();
  try {
    for await (const entry of Readable.from([tar]).pipe(extract())) {
      const { name, type } = entry.header;
      if (type !== 'file' || !member.test(name) || files.has(name))
        throw new CliError(`revert.tar holds ${name} (${type ?? 'unknown'}), which no keeper puts there; it is not used`);
      files.set(name, await buffer(entry));
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`revert.tar cannot be unpacked (${error instanceof Error ? error.message : String(error)}); fetch it again`);
  }
  for (const [name, content] of files) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content, { flag: 'wx', mode: 0o600 });
  }
  const description = files.get('description.json');
  if (description === undefined || !files.has('revert.sh'))
    throw new CliError('revert.tar has no description.json or no revert.sh; fetch it again');
  return parse(description.toString('utf8'));
}

function effectOf(value: unknown): ExternalEffect {
  const { target, state, undo, why } = fieldsOf(value);
  return { target: textOf(target), state: textOf(state), undo: undo === null ? null : textOf(undo), why: textOf(why) };
}

function parse(text: string): Description {
  const { from, to, roots, ops, irreversible, neverReverted, external } = fieldsOf(JSON.parse(text));
  const names = listOf(roots).map(textOf);
  if (names.length === 0)
    throw new CliError('revert.tar was made by an older keeper, whose script knows no roots to leave alone; unpack it and run revert.sh');
  return {
    from: textOf(fieldsOf(from)['snapshot']),
    to: textOf(fieldsOf(to)['snapshot']),
    roots: names,
    ops: listOf(ops) as readonly ChangedPath[],
    irreversible: listOf(irreversible).map((one) => ({ path: textOf(fieldsOf(one)['path']), reason: textOf(fieldsOf(one)['reason']) })),
    neverReverted: listOf(neverReverted).map(textOf),
    external: (external === undefined ? [] : listOf(external)).map(effectOf),
  };
}
