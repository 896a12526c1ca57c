import { child, named, type Node } from '../../syntax/node.ts';

/** A condition that holds, or does not, where it stands. */
export interface Fact {
  readonly condition: Node;
  readonly truth: boolean;
}

/** One way out of a function: what it returns, null for nothing, and what is known there. */
export interface Return {
  readonly value: Node | null;
  readonly facts: readonly Fact[];
}

/** Every `return` of a function or lambda with what is known there; functions inside are not entered. */
export function returnsOf(method: Node): readonly Return[] {
  const body = child(method, 'body');
  if (body === null) return [];
  if (method.type === 'lambda') return [{ value: body, facts: [] }];
  const out: Return[] = [];
  block(body, [], out);
  return out;
}

/** Reads a block and returns what is known behind it; null when its end is not reached. */
function block(node: Node, before: readonly Fact[], out: Return[]): readonly Fact[] | null {
  let facts: readonly Fact[] | null = before;
  for (const one of named(node)) {
    if (facts === null) return null;
    facts = statement(one, facts, out);
  }
  return facts;
}

function statement(node: Node, facts: readonly Fact[], out: Return[]): readonly Fact[] | null {
  if (node.type === 'return_statement') {
    out.push({ value: named(node)[0] ?? null, facts });
    return null;
  }
  if (node.type === 'raise_statement') return null;
  if (node.type === 'assert_statement') return [...facts, ...factOf(named(node)[0], true)];
  if (node.type === 'if_statement') return branches(node, facts, out);
  if (node.type === 'for_statement' || node.type === 'while_statement') return loop(node, facts, out);
  if (['try_statement', 'with_statement', 'match_statement'].includes(node.type)) return within(node, facts, out);
  return facts;
}

const factOf = (condition: Node | null | undefined, truth: boolean): readonly Fact[] =>
  condition === null || condition === undefined ? [] : [{ condition, truth }];

/** Behind an `if` that leaves the function its condition is known to be false. */
function branches(node: Node, before: readonly Fact[], out: Return[]): readonly Fact[] | null {
  const arms = [node, ...named(node).filter(({ field, type }) => field === 'alternative' && type === 'elif_clause')];
  let facts = before;
  let reached = false;
  for (const arm of arms) {
    const condition = child(arm, 'condition');
    const body = child(arm, 'consequence');
    const after = body === null ? facts : block(body, [...facts, ...factOf(condition, true)], out);
    reached ||= after !== null;
    facts = [...facts, ...factOf(condition, false)];
  }
  const otherwise = named(node).find(({ type }) => type === 'else_clause');
  const body = otherwise === undefined ? null : child(otherwise, 'body');
  const last = body === null ? facts : block(body, facts, out);
  if (last === null) return reached ? before : null;
  return reached ? before : last;
}

/** Behind a loop none of the conditions held that leave it by a `return`, for whatever it went through. */
function loop(node: Node, facts: readonly Fact[], out: Return[]): readonly Fact[] | null {
  const body = child(node, 'body');
  if (body === null) return facts;
  const after = block(body, facts, out);
  const kept = after === null ? [] : after.slice(facts.length);
  const otherwise = named(node).find(({ type }) => type === 'else_clause');
  const rest = otherwise === undefined ? null : child(otherwise, 'body');
  return rest === null ? [...facts, ...kept] : block(rest, [...facts, ...kept], out);
}

/** Bodies of `try`, `with` and `match`: what is known behind them is what was known before. */
function within(node: Node, facts: readonly Fact[], out: Return[]): readonly Fact[] | null {
  for (const one of named(node)) {
    if (one.type === 'block') block(one, facts, out);
    else if (one.type.endsWith('_clause')) within(one, facts, out);
  }
  return facts;
}
