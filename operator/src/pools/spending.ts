import { isRecord, timestamp } from '@agentfleet/kube';
import {
  fromMicros,
  toMicros,
  type AgentTask,
  type Assignment,
  type Budget,
  type ExpertPool,
  type PoolSpending,
  type Usage,
} from '@agentfleet/protocol/api';

/** Tokens, and money in millionths of the currency. */
export interface Amount {
  readonly tokens: number;
  readonly micros: number;
}

/** Amount that an attempt that has begun may spend at most. */
export interface Held extends Amount {
  /** Uid of the task. */
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly attempt: number;
}

/** Amount that ended attempts of one namespace have spent. */
export interface Spent extends Amount {
  /** Attempts whose usage is unknown, charged at all that was set aside for them. */
  readonly estimated: number;
}

/** Amounts that the tasks of a pool have spent in one window, and those that are set aside for attempts that run. */
export interface SpendingBook {
  /** Start of the window, ms since the epoch. */
  readonly since: number;
  readonly windowSeconds: number;
  readonly spent: Readonly<Record<string, Spent>>;
  readonly held: readonly Held[];
}

/** Key of the book in its ConfigMap. */
export const spendingKey = 'spending.json';

/** Namespaces that a book names; those that come later in a window share one entry, and so one cap per namespace. */
const mostNamespaces = 1000;
const others = '';

/** Characters of a book that is written: a ConfigMap holds 1 MiB. */
const mostText = 900_000;

const nothing: Amount = { tokens: 0, micros: 0 };
const units = ['tokens', 'micros'] as const;

export const emptyBook: SpendingBook = { since: 0, windowSeconds: 86_400, spent: {}, held: [] };

export function bookText(book: SpendingBook): string {
  return JSON.stringify(book);
}

/** The book of a text, an empty one where there is none; null: it cannot be read. Pure. */
export function bookOf(text: string | undefined): SpendingBook | null {
  if (text === undefined) return emptyBook;
  try {
    const found: unknown = JSON.parse(text);
    return isBook(found) ? found : null;
  } catch {
    return null;
  }
}

function isBook(value: unknown): value is SpendingBook {
  if (!isRecord(value)) return false;
  const { since, windowSeconds, spent, held } = value;
  return (
    isCount(since) &&
    isCount(windowSeconds) &&
    isRecord(spent) &&
    Object.values(spent).every((one) => isAmount(one) && isCount(one['estimated'])) &&
    Array.isArray(held) &&
    held.every(
      (one) => isAmount(one) && isCount(one['attempt']) && ['uid', 'namespace', 'name'].every((key) => typeof one[key] === 'string'),
    )
  );
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

function isAmount(value: unknown): value is Readonly<Record<string, unknown>> {
  return isRecord(value) && isCount(value['tokens']) && isCount(value['micros']);
}

/** The book as of now: with another window it begins without what was spent. A clock that is set back begins none. Pure. */
export function currentBook(book: SpendingBook, windowSeconds: number, now: number): SpendingBook {
  const since = Math.floor(now / 1000 / windowSeconds) * windowSeconds * 1000;
  return since > book.since ? { ...book, since, windowSeconds, spent: {} } : { ...book, windowSeconds };
}

/** Returns the end of the window, ms since the epoch. */
function endOf({ since, windowSeconds }: SpendingBook): number {
  return (Math.floor(since / 1000 / windowSeconds) + 1) * windowSeconds * 1000;
}

/** The budget of the task over all attempts, of what its pool caps; undefined: it caps nothing. Pure. */
export function cappedBudget(task: AgentTask, { spec }: ExpertPool): Assignment['budget'] {
  const { spending } = spec.limits ?? {};
  if (spending === undefined) return undefined;
  const { budget } = task.spec;
  const most = spec.policy.maxBudget;
  const [tokens, cost] = [budget.tokens ?? most?.tokens, budget.cost ?? most?.cost];
  const capped = (unit: 'tokens' | 'cost'): boolean => (spending[unit] ?? spending.perNamespace?.[unit]) !== undefined;
  return {
    ...(capped('tokens') && tokens !== undefined ? { tokens } : {}),
    ...(capped('cost') && cost !== undefined ? { cost } : {}),
  };
}

/** Returns the amount that the next attempt of a task may spend of what its pool caps; `used`: by the attempts that have ended. Pure. */
export function remainingOf(task: AgentTask, pool: ExpertPool, used: Usage | undefined = task.status?.totals?.usage): Amount {
  const budget = cappedBudget(task, pool);
  const spent = amountOf(used);
  return {
    tokens: Math.max(0, (budget?.tokens ?? 0) - spent.tokens),
    micros: Math.max(0, (budget?.cost === undefined ? 0 : Number(toMicros(budget.cost))) - spent.micros),
  };
}

/** Returns the amount that an attempt has spent. Pure. */
export function amountOf(usage: Pick<Usage, 'tokensIn' | 'tokensOut' | 'cost'> | undefined): Amount {
  if (usage === undefined) return nothing;
  return { tokens: usage.tokensIn + usage.tokensOut, micros: usage.cost === undefined ? 0 : Number(toMicros(usage.cost)) };
}

function plus(a: Amount, b: Amount): Amount {
  return { tokens: a.tokens + b.tokens, micros: a.micros + b.micros };
}

/** Returns the sums of what was spent and of what is set aside, of one namespace or of all. Pure. */
export function sumsOf(book: SpendingBook, namespace?: string): { readonly spent: Amount; readonly held: Amount } {
  const spent = namespace === undefined ? Object.values(book.spent) : [spentOf(book, entryOf(book, namespace)) ?? nothing];
  const held = book.held.filter((one) => namespace === undefined || one.namespace === namespace);
  return { spent: spent.reduce<Amount>(plus, nothing), held: held.reduce<Amount>(plus, nothing) };
}

/** The entry of that name; undefined: none, also where each object has a property of the name (`constructor`). Pure. */
export function spentOf({ spent }: SpendingBook, entry: string): Spent | undefined {
  return Object.hasOwn(spent, entry) ? spent[entry] : undefined;
}

function entryOf(book: SpendingBook, namespace: string): string {
  return spentOf(book, namespace) !== undefined || Object.keys(book.spent).length < mostNamespaces ? namespace : others;
}

/** Caps of a pool, or of each of its namespaces; Infinity where there is none. Pure. */
export function capOf(caps: Pick<PoolSpending, 'tokens' | 'cost'> | undefined): Amount {
  return { tokens: caps?.tokens ?? Infinity, micros: caps?.cost === undefined ? Infinity : Number(toMicros(caps.cost)) };
}

/** The cap that an attempt would exceed. */
interface Excess {
  /** `tokens`, `perNamespace.cost` … of spec.limits.spending. */
  readonly field: string;
  readonly unit: 'tokens' | 'micros';
  readonly cap: number;
  readonly spent: number;
  readonly held: number;
  readonly asked: number;
  /** End of the window, ms since the epoch. */
  readonly until: number;
}

/** Returns the cap that an attempt with such spending would exceed; undefined: none. What is set aside for it already counts once. Pure. */
export function excessOf(
  before: SpendingBook,
  spending: PoolSpending,
  asked: Omit<Held, 'attempt' | 'name'>,
  now: number,
): Excess | undefined {
  const current = currentBook(before, spending.windowSeconds, now);
  const book = { ...current, held: current.held.filter(({ uid }) => uid !== asked.uid) };
  const scopes = [
    { field: '', cap: capOf(spending), ...sumsOf(book) },
    { field: 'perNamespace.', cap: capOf(spending.perNamespace), ...sumsOf(book, asked.namespace) },
  ];
  for (const { field, cap, spent, held } of scopes)
    for (const unit of units)
      if (spent[unit] + held[unit] + asked[unit] > cap[unit])
        return {
          field: `${field}${unit === 'tokens' ? 'tokens' : 'cost'}`,
          unit,
          cap: cap[unit],
          spent: spent[unit],
          held: held[unit],
          asked: asked[unit],
          until: endOf(book),
        };
  return undefined;
}

/** The excess in words. `pool`: its `namespace/name`; `own`: the budget that the task names. Pure. */
export function excessMessage(pool: string, { field, unit, cap, spent, held, asked, until }: Excess, own: Budget): string {
  const shown = (amount: number): string => (unit === 'tokens' ? `${amount}` : fromMicros(BigInt(amount)));
  const what = unit === 'tokens' ? ' tokens' : ' in money';
  const [name, bound] = unit === 'tokens' ? (['tokens', own.tokens] as const) : (['cost', own.cost] as const);
  const smaller =
    bound === undefined
      ? `; or create the task again with a spec.budget.${name} of its own: without one it reserves spec.policy.maxBudget of the pool`
      : '';
  return `spec.limits.spending.${field} of ExpertPool ${pool} is ${shown(cap)}: in this window ${shown(spent)}${what} are spent, ${shown(held)} are set aside for attempts that run, and this one may use ${shown(asked)}; it begins when that fits, at the latest when the window ends at ${timestamp(until)} and nothing runs, or when the cap is raised${smaller}`;
}

/** Attempts that fit into a ConfigMap whatever their names are. */
const surelyFit = 1000;

/** Reports whether a ConfigMap holds the book with one attempt more. Pure. */
export function hasRoom(book: SpendingBook, held: Held): boolean {
  return (
    book.held.length < surelyFit ||
    bookText({ ...book, held: [...book.held.filter(({ uid }) => uid !== held.uid), held] }).length <= mostText
  );
}

/** The book with so much set aside, in place of what the task had; undefined: no ConfigMap holds so many attempts. Pure. */
export function setAside(before: SpendingBook, spending: PoolSpending, held: Held, now: number): SpendingBook | undefined {
  const book = currentBook(before, spending.windowSeconds, now);
  return hasRoom(book, held) ? { ...book, held: [...book.held.filter(({ uid }) => uid !== held.uid), held] } : undefined;
}

/** Charge for an attempt that has ended. */
export interface Charge {
  readonly uid: string;
  readonly attempt: number;
  /** Null: it is unknown, and all that was set aside is charged. */
  readonly amount: Amount | null;
}

/** The book with an attempt charged; the same book when it was before. Pure. */
export function settle(before: SpendingBook, { uid, attempt, amount }: Charge, now: number): SpendingBook {
  const held = before.held.find((one) => one.uid === uid && one.attempt === attempt);
  if (held === undefined) return before;
  const book = currentBook(before, before.windowSeconds, now);
  const entry = entryOf(book, held.namespace);
  const known = spentOf(book, entry) ?? { ...nothing, estimated: 0 };
  const rest = book.held.filter((one) => one !== held);
  if (amount !== null && amount.tokens === 0 && amount.micros === 0) return { ...book, held: rest };
  const sum = { ...plus(known, amount ?? held), estimated: known.estimated + (amount === null ? 1 : 0) };
  return { ...book, held: rest, spent: { ...book.spent, [entry]: sum } };
}
