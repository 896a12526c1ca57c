import { createTwoFilesPatch } from 'diff';
import { Redaction } from '@agentfleet/protocol/redact';
import { toolDefinition } from '@agentfleet/protocol/chat';
import type { Candidate } from '@agentfleet/protocol/inference';
import type { ExpertEndpoint, PoolBrief } from '@agentfleet/protocol/pool';
import { EditMismatch, rewritesOf } from '../features/index.ts';
import { holds, prove } from '../attempt/checkRun.ts';
import { AttemptFailure } from '../base/failure.ts';
import { localise, propose, SearchNode, type Focus } from '../search/index.ts';
import { plain, treeNow, type Observation, type Tool, type ToolContext } from './tool.ts';

/** Edits that are asked for, and those that are shown. */
const asked = 16;
const shown = 5;

/** Likely edits near the lines that failing tests execute, from an expert of the pool that searches; none is tried. */
export const proposeRepairs: Tool = {
  definition: toolDefinition('propose_repairs'),
  offered: ({ context }) => searchers(context.pool).length > 0,
  run: async (_, context) => {
    const tree = await treeNow(context);
    const focus = await focusOf(context);
    await context.scope.session.backTo(tree);
    if (focus === null) return { ok: true, text: '[every check holds; there is nothing to repair]' };
    const candidates = await ask(context, focus);
    if (candidates === null) return { ok: false, text: '[the search for repairs does not answer now; go on without it]' };
    return describe(candidates, context);
  },
};

function searchers({ experts }: Pick<PoolBrief, 'experts'>): readonly ExpertEndpoint[] {
  return experts.filter(({ engine, role }) => engine === 'Synth' && (role === 'Generalist' || role === 'Specialist'));
}

/** Returns the places that failing tests point to on the current tree; null when none fails. */
async function focusOf({ scope, baseline }: ToolContext): Promise<Focus | null> {
  const runs = [];
  for (const judged of baseline.checks) {
    const proof = await prove(judged, baseline);
    if (!holds(proof)) runs.push(proof.run);
  }
  return runs.length === 0 ? null : localise(scope, baseline, runs);
}

/** Null: it does not answer. */
async function ask({ scope, callKey }: ToolContext, focus: Focus): Promise<readonly Candidate[] | null> {
  const all = searchers(scope.context.pool);
  const expert = all.find(({ domains }) => domains.includes(focus.domain)) ?? all.find(({ domains }) => domains.includes('*')) ?? all[0];
  if (expert === undefined) throw new Error('propose_repairs is offered without an expert; report this fault');
  const node = new SearchNode({ state: callKey, parent: null, planId: 'repair', edits: [], snapshot: null, passing: new Set() });
  try {
    return (await propose(scope, node, focus, { expert, k: asked, pairs: false }))?.candidates ?? [];
  } catch (error) {
    if (error instanceof AttemptFailure && error.failureClass === 'Infrastructure') return null;
    throw error;
  }
}

async function describe(candidates: readonly Candidate[], { scope: { session } }: ToolContext): Promise<Observation> {
  const parts: string[] = [];
  for (const { edits, rationale, score } of candidates.slice(0, shown)) {
    try {
      const rewrites = await rewritesOf(edits, (path) => session.read(path));
      const diffs = rewrites.map(({ path, before, after }) => diffOf(path, before?.toString('utf8') ?? '', after.toString('utf8')));
      parts.push(plain(`${parts.length + 1}. ${rationale} (share ${score.toFixed(2)})\n${diffs.join('\n')}`));
    } catch (error) {
      if (!(error instanceof EditMismatch)) throw error;
    }
  }
  if (parts.length === 0) return { ok: true, text: '[the search has no edit to propose]' };
  const text = new Redaction(() => undefined).open().text(parts.join('\n'));
  return { ok: true, text: `${text}\n[${parts.length} of ${candidates.length} edits, the likeliest first; none was tried]` };
}

function diffOf(path: string, before: string, after: string): string {
  return createTwoFilesPatch(path, path, before, after, undefined, undefined, { context: 2 })
    .replace(/^Index: .*\n=+\n/, '')
    .trimEnd();
}
