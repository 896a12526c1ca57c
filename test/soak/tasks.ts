// test, soak: random tasks of a soak, and the model calls for each. May import any package.

/** Purpose of a task of the soak; its end follows from it whatever is killed meanwhile. */
export type Kind = 'write' | 'outward' | 'wrong' | 'cancelled';

/** One task of the soak, as the seed has drawn it. */
export interface Drawn {
  readonly name: string;
  readonly kind: Kind;
  /** Text of the file at the end. */
  readonly word: string;
  /** Seconds from the apply to the order that cancels it. */
  readonly cancelAfter?: number;
}

const shares: readonly (readonly [kind: Kind, upTo: number])[] = [
  ['write', 0.65],
  ['outward', 0.8],
  ['wrong', 0.9],
  ['cancelled', 1],
];

const mostCancelAfter = 12;

/** Draws the task of a number. */
export function draw(at: number, random: () => number): Drawn {
  const lot = random();
  const kind = shares.find(([, upTo]) => lot < upTo)?.[0] ?? 'write';
  const name = `${kind}-${String(at).padStart(5, '0')}`;
  const word = `w${Math.floor(random() * 1e9)}`;
  return kind === 'cancelled' ? { name, kind, word, cancelAfter: random() * mostCancelAfter } : { name, kind, word };
}

/** Ended tasks go after so long, as those of a fleet in use do: else the memory of the fleet would rightly grow by what it caches of them. */
const ttlSeconds = 600;

/** Server of outward effects, as the pool knows it. */
export const ledger = 'ledger';
/** Tool of that server. */
const recordTool = `${ledger}__record`;

/** The goal names what the scripted model does. */
export function goalOf({ name, kind, word }: Pick<Drawn, 'name' | 'kind' | 'word'>): string {
  return `Put one line with the word ${word} into the file out.txt. Case ${kind} ${name} ${word}.`;
}

/** The spec of its AgentTask. */
export function specOf(drawn: Drawn): object {
  return {
    poolRef: { name: 'pool' },
    goal: goalOf(drawn),
    workspace: { type: 'Inline', inline: { files: [{ path: 'out.txt', content: 'nothing\n' }] } },
    checks: [{ name: 'word', command: ['grep', '-qx', drawn.word, 'out.txt'] }],
    attempts: { max: 1 },
    ttlSecondsAfterFinished: ttlSeconds,
    ...(drawn.kind === 'outward' && { tools: { mcpServers: [{ name: ledger, required: true }] } }),
  };
}

interface Call {
  readonly name: string;
  readonly arguments: object;
}

const bash = (command: string): Call => ({ name: 'bash', arguments: { command } });
const submit = (more: object = {}): Call => ({ name: 'submit', arguments: { answer: 'Done.', ...more } });

/** Acts of the scripted model, each once; the last two again where a submission comes back. */
const scripts: Readonly<Record<Kind, (drawn: Pick<Drawn, 'name' | 'word'>) => readonly Call[]>> = {
  write: ({ word }) => [bash(`echo ${word} > out.txt`), submit()],
  outward: ({ name, word }) => [{ name: recordTool, arguments: { entry: name } }, bash(`echo ${word} > out.txt`), submit()],
  wrong: () => [bash('echo other > out.txt'), submit({ unreachable: true })],
  cancelled: ({ word }) => [bash('sleep 30'), bash(`echo ${word} > out.txt`), submit()],
};

/** Reads the case back from a conversation. */
export function caseIn(text: string): Pick<Drawn, 'name' | 'kind' | 'word'> | undefined {
  const found = /Case (?<kind>\w+) (?<name>[\w-]+) (?<word>\w+)\./.exec(text)?.groups;
  const { kind, name = '', word = '' } = found ?? {};
  return kind !== undefined && kind in scripts ? { kind: kind as Kind, name, word } : undefined;
}

/** The call after those that were made. A submission that came back is made again after the work that it is about. */
export function nextCall(drawn: Pick<Drawn, 'name' | 'kind' | 'word'>, made: number): Call {
  const calls = scripts[drawn.kind](drawn);
  const [work, last] = calls.slice(-2) as [Call, Call];
  return calls[made] ?? ((made - calls.length) % 2 === 0 ? work : last);
}
