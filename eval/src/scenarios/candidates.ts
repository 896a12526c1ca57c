import { createHash } from 'node:crypto';
import type { AttemptContext, Experts } from '@agentfleet/agent/attempt';
import type { Candidate, GenerateResponse, ShellAct } from '@agentfleet/protocol/inference';
import { EvalError } from '../failure.ts';
import type { Change, PackTask } from '../format/index.ts';
import type { ProposalFile } from './types.ts';

/** Of one command line, less than the wire allows. */
const chunk = 3000;
const mark = 'END_OF_FILE';
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** Command lines that write a file, in pieces that a command line can hold. @throws EvalError for what no here-document can hold */
function writing(path: string, content: string): readonly string[] {
  if (content.split('\n').includes(mark)) throw new EvalError(`${path} has a line ${mark}, which ends what is written`);
  const folder = path.includes('/') ? [`mkdir -p ${quoted(path.slice(0, path.lastIndexOf('/')))}`] : [];
  if (content !== '' && !content.endsWith('\n')) return [...folder, `printf %s ${quoted(content)} > ${quoted(path)}`];
  const pieces: string[] = [];
  for (const line of content.split(/(?<=\n)/)) {
    const last = pieces.at(-1);
    if (last !== undefined && last.length + line.length < chunk) pieces[pieces.length - 1] = last + line;
    else pieces.push(line);
  }
  return [...folder, ...pieces.map((text, at) => `cat ${at === 0 ? '>' : '>>'} ${quoted(path)} <<'${mark}'\n${text}${mark}`)];
}

function changing({ files, script }: Change): readonly string[] {
  const written = Object.entries(files).flatMap(([path, content]) => (content === null ? [`rm ${quoted(path)}`] : writing(path, content)));
  return [...written, ...(script === undefined ? [] : [script.trim()])];
}

/** The command lines of a proposal. */
export function commandsOf(
  task: Pick<PackTask, 'id' | 'oracle' | 'decoys'>,
  { commands = [], solution, decoy }: ProposalFile,
): readonly string[] {
  const change = solution === true ? task.oracle : decoy === undefined ? null : task.decoys[decoy];
  if (change === undefined) throw new EvalError(`${task.id} has no decoy ${decoy ?? 0}`);
  return [...commands, ...(change === null ? [] : changing(change))];
}

const digest = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;

/** An expert that proposes lists of command lines, one after the other, whatever it is asked. */
export function acting(lists: readonly (readonly string[])[], expert: ReturnType<Experts['choose']>): AttemptContext['experts'] {
  const all = lists.map((commands, at) => ({ id: digest(JSON.stringify([at, commands])), commands }));
  return {
    choose: () => expert,
    generate: (_, { requestId, exclude }) => {
      const [next, ...more] = all.filter(({ id }) => !exclude.includes(id));
      const candidates = next === undefined ? [] : [candidate(next)];
      const rest = { returnedMass: 1, exhausted: more.length === 0, truncated: false, entropyNats: 0, margin: null };
      const stats = { parsed: 0, considered: all.length, millis: 0 };
      const answer: GenerateResponse = { requestId, engine: 'Replay', modelDigest: digest('scenario'), candidates, ...rest, stats };
      return Promise.resolve(answer);
    },
  };
}

function candidate({ id, commands }: { readonly id: string; readonly commands: readonly string[] }): Candidate {
  const acts: ShellAct[] = commands.map((command) => ({ tool: 'Shell', command }));
  const location = { path: '', line: 1, column: 0 };
  return { id, rank: 1, score: 1, edits: [], acts, operator: 'scenario', rationale: 'as the scenario says', location };
}
