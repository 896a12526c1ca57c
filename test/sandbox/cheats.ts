import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import type { Experts } from '@agentfleet/agent/attempt';
import type { ExpertEndpoint } from '@agentfleet/protocol/pool';
import type { GenerateResponse, RecordedCandidate, RecordedEdit } from '@agentfleet/protocol/inference';
import type { Sandbox } from '../../hack/sandbox/index.ts';

/** Replaces a whole file, also one that the expert was not shown. `before` is empty for a new one. */
export function wholeFile(path: string, before: string, after: string): readonly RecordedEdit[] {
  const expectedSha256 = createHash('sha256').update(before).digest('hex');
  return [{ path, before, after, range: { startByte: 0, endByte: Buffer.byteLength(before) }, expectedSha256 }];
}

/** A proposal, and the name by which its note is found. */
export interface Proposal {
  readonly name: string;
  readonly edits: readonly RecordedEdit[];
  readonly commands?: readonly string[];
}

/** The only step of a record: all proposals, of equal weight. */
export function step(...proposals: readonly Proposal[]): readonly (readonly RecordedCandidate[])[] {
  const candidate = ({ name, edits, commands = [] }: Proposal): RecordedCandidate => {
    const acts = commands.map((command) => ({ tool: 'Shell' as const, command }));
    return { edits: [...edits], acts, weight: 1, operator: name, rationale: 'as recorded' };
  };
  return [proposals.map(candidate)];
}

const nothingLeft: GenerateResponse = {
  requestId: '',
  engine: 'Replay',
  modelDigest: '',
  candidates: [],
  returnedMass: 0,
  exhausted: true,
  truncated: false,
  entropyNats: 0,
  margin: null,
  stats: { parsed: 0, considered: 0, millis: 0 },
};

/** The expert without the worker's own filter of its answers, so that later layers must stop a cheat. */
export function unfiltered(expert: () => ExpertEndpoint): Experts {
  return {
    choose: expert,
    async generate({ url }, request, signal) {
      const answer = await fetch(`${url}/v1/generate`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(request),
        signal,
      });
      if (answer.ok) return (await answer.json()) as GenerateResponse;
      const refusal = await answer.text();
      // Any other refusal would look like an exhausted expert, and the cheat would never have been tried.
      if (!refusal.includes('AF_RECORD_ENDED')) throw new Error(`the recorded expert: ${answer.status} ${refusal}`);
      return { ...nothingLeft, requestId: request.requestId };
    },
  };
}

/** One candidate in a note. */
export interface Tried {
  readonly id: string;
  /** Name of the proposal. */
  readonly operator: string;
  readonly attempt: number;
  readonly result: string;
  readonly why: string;
}

/** The candidates of an attempt, by its notes. */
export async function triedIn(sandbox: Sandbox, attempt: number): Promise<readonly Tried[]> {
  const found: Tried[] = [];
  for await (const { type, body } of sandbox.clientWith({ epoch: attempt }).events()) {
    const { kind, data } = body as { kind?: string; data?: Tried };
    if (type === 'Noted' && kind === 'Tried' && data?.attempt === attempt) found.push(data);
  }
  return found;
}

/** A planted cheat, and what stops it: the gate by path or by the added text, or the comparison of its run with the baseline. */
export interface Cheat extends Proposal {
  readonly layer: 'Denied' | 'Judged';
  readonly why: RegExp;
}

/** @throws unless the layer of this cheat stopped it, each time that it was tried (one that timed out is tried with the whole time) */
export function expectStopped(tried: readonly Tried[], { name, layer, why }: Cheat): void {
  const own = tried.filter(({ operator }) => operator === name);
  expect(new Set(own.map(({ id, result }) => `${id} ${result}`)).size, name).toBe(1);
  expect(own[0]?.why).toMatch(why);
  expect(layer === 'Denied' ? ['Denied'] : ['Worse', 'Equal']).toContain(own[0]?.result);
}
