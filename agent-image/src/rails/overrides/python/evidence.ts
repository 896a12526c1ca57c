import { child, named, type Node } from '../../syntax/node.ts';
import { parametersOf, type Class } from './classes.ts';
import { elementsOf, localsOf, type Local, type Locals } from './locals.ts';

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

/** Marks of the two objects in the canonical text of an expression. */
const self = '\u0001';
const other = '\u0002';
/** Functions that reveal nothing of the state of the object that they are asked about. */
const weak = /^(?:type|id|bool|hash|len|isinstance|callable|issubclass|print)$/;
/** The largest difference that still counts as equal. */
const tolerance = 0.01;

/** Reads expressions of a method about itself and another object. */
export class Evidence {
  readonly #self: string;
  readonly #other: string;
  readonly #locals: Locals;
  readonly #class: Class;
  readonly #ofBase: boolean;
  readonly #depth: number;

  /** @param ofBase the value is in a built-in base: only that base can compare it */
  constructor(method: Node, cls: Class, { ofBase = false, depth = 0 }: { readonly ofBase?: boolean; readonly depth?: number } = {}) {
    [this.#self = '', this.#other = ''] = parametersOf(method);
    this.#locals = localsOf(method);
    this.#class = cls;
    this.#ofBase = ofBase;
    this.#depth = depth;
  }

  /** Reports whether an expression that comes to `truth` proves that both objects have the same state. One that never does proves it. */
  same(node: Node, truth: boolean, locals: Locals = this.#locals): boolean {
    const inner = (one: Node | null | undefined, is: boolean): boolean => one !== null && one !== undefined && this.same(one, is, locals);
    if (node.type === 'parenthesized_expression') return inner(named(node)[0], truth);
    if (node.type === 'not_operator') return inner(child(node, 'argument'), !truth);
    if (node.type === 'boolean_operator') {
      const parts = [child(node, 'left'), child(node, 'right')];
      const enough = node.children.some(({ type }) => type === 'and') === truth;
      return enough ? parts.some((one) => inner(one, truth)) : parts.every((one) => inner(one, truth));
    }
    if (node.type === 'conditional_expression') {
      const [then, condition, otherwise] = named(node);
      return (inner(then, truth) || inner(condition, true)) && (inner(otherwise, truth) || inner(condition, false));
    }
    if (node.type === 'comparison_operator') return this.#compares(node, truth, locals);
    if (node.type === 'call') return this.#calls(node, truth, locals);
    if (node.type === 'false' || node.type === 'none') return truth;
    if (node.type === 'true') return !truth;
    if (node.type !== 'identifier') return false;
    if (node.text === 'NotImplemented') return true;
    const local = expression(locals.get(node.text));
    return local !== null && this.same(local, truth, new Map([...locals, [node.text, null]]));
  }

  /** Reports whether an expression weighs the state of both objects in whatever order. */
  orders(node: Node): boolean {
    const parts = named(node);
    if (node.type === 'parenthesized_expression' || node.type === 'not_operator') return parts.some((one) => this.orders(one));
    if (node.type === 'boolean_operator') {
      const all = node.children.some(({ type }) => type === 'or');
      return all ? parts.every((one) => this.orders(one)) : parts.some((one) => this.orders(one));
    }
    if (node.type === 'conditional_expression')
      return (
        [parts[0], parts[2]].every((one) => one !== undefined && this.orders(one)) || (parts[1] !== undefined && this.orders(parts[1]))
      );
    if (node.type === 'comparison_operator') return parts.slice(1).some((one, at) => this.#pairs(parts[at], one));
    if (node.type === 'call') return this.#ofSuper(node, /^__(?:lt|le|gt|ge|eq|ne)__$/) || this.#ofSelf(node) !== null;
    const local = node.type === 'identifier' ? expression(this.#locals.get(node.text)) : null;
    return local !== null && local.type !== 'identifier' && this.orders(local);
  }

  #pairs(left: Node | undefined, right: Node): boolean {
    return left !== undefined && (this.#mirrored(left, right) || this.#whole(left, right, this.#locals) || this.#helped(left));
  }

  /** `self._compare(other) < 0`: a method of the class that has both. */
  #helped(node: Node | undefined): boolean {
    const helper = node?.type === 'call' ? this.#ofSelf(node) : null;
    if (helper === null || this.#depth > 2) return false;
    return new Evidence(helper, this.#class, { ofBase: this.#ofBase, depth: this.#depth + 1 }).#weighs(helper);
  }

  #weighs(node: Node): boolean {
    const parts = named(node);
    if (/^(?:comparison_operator|binary_operator)$/.test(node.type) && parts.slice(1).some((one, at) => this.#mirrored(parts[at], one)))
      return true;
    return parts.some((one) => this.#weighs(one));
  }

  #compares(node: Node, truth: boolean, locals: Locals): boolean {
    const operators = node.children.filter(({ field }) => field === 'operators').map(({ text }) => text);
    const operands = node.children.filter(({ field, named }) => named && field !== 'operators');
    const pair = (operator: string, at: number): boolean => {
      const [left, right] = [operands[at], operands[at + 1]];
      if (left === undefined || right === undefined) return false;
      if (/^<=?$/.test(operator)) return truth && this.#near(left, right, locals);
      const equal = /^(?:==|is)$/.test(operator) ? truth : /^(?:!=|is\s+not)$/.test(operator) && !truth;
      return equal && (this.#mirrored(left, right, locals) || this.#whole(left, right, locals));
    };
    return truth ? operators.some(pair) : operators.every(pair);
  }

  /** `abs(self.x - other.x) < 1e-9` */
  #near(left: Node, right: Node, locals: Locals): boolean {
    const difference = left.type === 'call' && child(left, 'function')?.text === 'abs' ? argumentsOf(left)[0] : undefined;
    if (difference?.type !== 'binary_operator' || !(Number(right.text) <= tolerance)) return false;
    const [a, b] = named(difference);
    return child(difference, 'left') !== null && difference.children.some(({ text }) => text === '-') && this.#mirrored(a, b, locals);
  }

  /** `self is other`, `self == other`: the same object, or by another method of the class. */
  #whole(left: Node, right: Node, locals: Locals): boolean {
    return [this.#canon(left, locals), this.#canon(right, locals)].sort().join('') === self + other;
  }

  /** Reports whether one side reads of this object what the other side reads of the other one, and that is state. */
  #mirrored(left: Node | undefined, right: Node | undefined, locals: Locals = this.#locals): boolean {
    if (left === undefined || right === undefined) return false;
    const [a, b] = [this.#canon(left, locals), this.#canon(right, locals)];
    const [mine, theirs] = a.includes(self) ? [a, b] : [b, a];
    return !mine.includes(other) && mine.replaceAll(self, other) === theirs && this.#isState(mine);
  }

  #isState(canon: string): boolean {
    const attributes = [...canon.matchAll(new RegExp(`${self} \\. (\\w+)`, 'g'))].map(([, name = '']) => name);
    if (this.#ofBase) return false;
    if (attributes.some((name) => this.#class.varies(name))) return true;
    const called = [...canon.matchAll(new RegExp(`(\\w+) \\( ${self}`, 'g'))].map(([, name = '']) => name);
    return canon.includes(`${self} [`) || called.some((name) => !weak.test(name));
  }

  #calls(node: Node, truth: boolean, locals: Locals): boolean {
    const name = child(node, 'function')?.text ?? '';
    if (name === 'all' || name === 'any') return truth === (name === 'all') && this.#each(node, truth, locals);
    if (/(?:^|\.)(?:isclose|allclose|array_equal|array_equiv)$/.test(name)) return truth && this.#close(node, locals);
    if (this.#ofSuper(node, truth ? /^__eq__$/ : /^__ne__$/)) return true;
    const helper = truth ? this.#ofSelf(node) : null;
    if (helper === null || this.#depth > 2 || this.#ofBase) return false;
    return provesSame(helper, this.#class, { depth: this.#depth + 1 });
  }

  /** `all(a == b for a, b in zip(self.items, other.items))` */
  #each(node: Node, truth: boolean, locals: Locals): boolean {
    const generator = [child(node, 'arguments'), ...argumentsOf(node)].find((one) =>
      /^(?:generator_expression|list_comprehension)$/.test(one?.type ?? ''),
    );
    const body = generator === null || generator === undefined ? null : child(generator, 'body');
    if (generator === null || generator === undefined || body === null) return false;
    const inside = new Map(locals);
    for (const clause of named(generator).filter(({ type }) => type === 'for_in_clause'))
      for (const [name, value] of elementsOf(clause)) inside.set(name, value);
    return this.same(body, truth, inside);
  }

  #close(node: Node, locals: Locals): boolean {
    const [a, b, ...more] = argumentsOf(node);
    const bounds = more.map((one) => Number((child(one, 'value') ?? one).text));
    return this.#mirrored(a, b, locals) && bounds.every((bound) => bound <= tolerance);
  }

  /** `super().__eq__(other)`, `Base.__eq__(self, other)` */
  #ofSuper(node: Node, method: RegExp): boolean {
    const callee = child(node, 'function');
    if (callee?.type !== 'attribute' || !method.test(child(callee, 'attribute')?.text ?? '')) return false;
    const object = child(callee, 'object');
    const given = argumentsOf(node).map((one) => this.#canon(one, this.#locals));
    if (/^super\(.*\)$/.test(object?.text ?? '')) return given.join() === other;
    return this.#class.bases.some(({ text }) => text === object?.text) && given.join() === [self, other].join();
  }

  /** The method of this class that is called on this object with the other one. */
  #ofSelf(node: Node): Node | null {
    const callee = child(node, 'function');
    const object = callee?.type === 'attribute' ? child(callee, 'object') : null;
    const given = argumentsOf(node).map((one) => this.#canon(one, this.#locals));
    if (callee === null || object?.text !== this.#self || given.join() !== other) return null;
    return this.#class.methods.find(({ name }) => name === child(callee, 'attribute')?.text)?.node ?? null;
  }

  /** The text with one blank between tokens, local names written out and the two objects marked. */
  #canon(node: Node, locals: Locals): string {
    if (node.type === 'identifier' && node.field !== 'attribute' && node.field !== 'name') {
      if (node.text === this.#self) return self;
      if (node.text === this.#other) return other;
      const local = locals.get(node.text) ?? null;
      const rest = new Map([...locals, [node.text, null]]);
      if (local === null) return node.text;
      return 'each' in local ? `${this.#canon(local.each, rest)} [ * ]` : this.#canon(local, rest);
    }
    return node.children.length === 0 ? node.text : node.children.map((one) => this.#canon(one, locals)).join(' ');
  }
}

const argumentsOf = (node: Node): readonly Node[] => {
  const list = child(node, 'arguments');
  return list === null || list.type !== 'argument_list' ? [] : named(list);
};

const expression = (local: Local | undefined): Node | null => (local === undefined || local === null || 'each' in local ? null : local);

/** Reports whether a method answers true only for objects of the same state, on each of its ways. */
export function provesSame(method: Node, cls: Class, options: { readonly ofBase?: boolean; readonly depth?: number } = {}): boolean {
  const evidence = new Evidence(method, cls, options);
  return returnsOf(method).every(
    ({ value, facts }) =>
      value === null || evidence.same(value, true) || facts.some(({ condition, truth }) => evidence.same(condition, truth)),
  );
}
