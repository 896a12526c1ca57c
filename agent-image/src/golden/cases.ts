import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { asError } from '@agentfleet/kube';
import { energyHeads, Features, FocusFile, generateBounds, Localisation, scoreBounds } from '@agentfleet/protocol/inference';
import { Type, type Static, type TProperties } from 'typebox';
import { Value } from 'typebox/value';
import { jsonIn } from '../base/text.ts';

const id = Type.String({ minLength: 1, maxLength: 100, pattern: '^[A-Za-z0-9._:-]+$' });

const exact = <P extends TProperties>(properties: P) => Type.Object(properties, { additionalProperties: false });

/** An act, and whether it is good. */
const ActCase = exact({
  id,
  good: Type.Boolean(),
  act: exact({
    head: Type.Enum([...energyHeads]),
    text: Type.String({ maxLength: scoreBounds.maxTextChars, description: 'the command, or the changed lines' }),
    operator: Type.Optional(Type.String({ maxLength: 128 })),
    features: Type.Optional(Features),
  }),
});
export type ActCase = Static<typeof ActCase>;

/** Files with a fault, and the content that one of the first proposals must produce for one file. */
const ProposalCase = exact({
  id,
  propose: exact({
    goal: Type.String({ minLength: 1, maxLength: 4096 }),
    files: Type.Array(FocusFile, { minItems: 1, maxItems: generateBounds.maxFiles }),
    localisation: Type.Optional(Localisation),
    maxEdits: Type.Optional(Type.Integer({ minimum: 1, maximum: 2 })),
    budgetMillis: Type.Optional(Type.Integer({ minimum: 1, maximum: generateBounds.maxBudgetMillis })),
  }),
  expert: Type.Optional(Type.String({ minLength: 1, maxLength: 63, description: 'default: the first that proposes' })),
  within: Type.Optional(
    Type.Integer({ minimum: 1, maximum: generateBounds.maxCandidates, description: 'how many of the first; default 5' }),
  ),
  expect: exact({
    path: Type.String({ minLength: 1, maxLength: 1024 }),
    contains: Type.Optional(Type.String({ minLength: 1, maxLength: 65_536 })),
    matches: Type.Optional(Type.String({ minLength: 1, maxLength: 4096, description: 'a regular expression, with the flags m and u' })),
  }),
});
export type ProposalCase = Static<typeof ProposalCase>;

/** A set. */
export interface GoldenSet {
  readonly acts: readonly ActCase[];
  readonly proposals: readonly ProposalCase[];
}

/** Error of a set that cannot be run; names the file and the cure. */
export class GoldenFault extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'GoldenFault';
  }
}

const mostBytes = 64 * 1024 * 1024;
const mostCases = 100_000;

/** Reads all `*.jsonl` of a folder, one case on each line. @throws GoldenFault */
export async function readCases(folder: string): Promise<GoldenSet> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.jsonl')).toSorted();
  if (names.length === 0) throw new GoldenFault(`${folder} has no file that ends in .jsonl; mount the set there`);
  const cases: (ActCase | ProposalCase)[] = [];
  let left = mostBytes;
  for (const name of names) {
    left -= (await stat(join(folder, name))).size;
    if (left < 0) throw new GoldenFault(`the files of ${folder} have more than ${mostBytes} bytes; take a smaller set`);
    cases.push(...casesOf(name, await readFile(join(folder, name), 'utf8')));
  }
  if (cases.length > mostCases) throw new GoldenFault(`the set has more than ${mostCases} cases; take fewer`);
  const known = new Set<string>();
  const twice = cases.find(({ id }) => known.size === known.add(id).size);
  if (twice !== undefined) throw new GoldenFault(`two cases are called ${twice.id}; rename one`);
  return { acts: cases.filter((one) => 'act' in one), proposals: cases.filter((one) => 'propose' in one) };
}

function casesOf(name: string, text: string): readonly (ActCase | ProposalCase)[] {
  return text.split('\n').flatMap((line, at) => (line.trim() === '' ? [] : [caseOf(line, `${name}:${at + 1}`)]));
}

function caseOf(line: string, where: string): ActCase | ProposalCase {
  const value = jsonIn(line);
  if (typeof value !== 'object' || value === null) throw new GoldenFault(`${where}: it is no JSON object`);
  const schema = 'propose' in value ? ProposalCase : ActCase;
  if (!Value.Check(schema, value)) {
    const [error] = [...Value.Errors(schema, value)];
    throw new GoldenFault(`${where}: ${error?.instancePath ?? ''} ${error?.message ?? 'is no case'}`);
  }
  if ('expect' in value) checkExpectation(value, where);
  return value;
}

function checkExpectation({ expect: { contains, matches } }: ProposalCase, where: string): void {
  if (contains === undefined && matches === undefined) throw new GoldenFault(`${where}: expect needs contains or matches`);
  try {
    if (matches !== undefined) ''.search(new RegExp(matches, 'mu'));
  } catch (error) {
    throw new GoldenFault(`${where}: expect.matches: ${asError(error).message}`);
  }
}
