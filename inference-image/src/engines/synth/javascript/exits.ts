import { replace, insertAfter, counted, otherExits, otherResults } from '../language/forms.ts';
import type { Proposal } from '../language/language.ts';
import type { ScriptFile } from './file.ts';
import { type Operator, bracketed } from './operator.ts';
import { functions, loops, functionOf, siblingsOf, isExit, conditionOf, calledName, type SyntaxNode } from './syntax.ts';

/** A value that is computed and dropped, a function that runs off its end, an arrow whose braces are a block. */
const missingReturn: Operator = {
  name: 'missing-return',
  prior: 0.6,
  on: ['expression_statement', 'function_declaration', 'function_expression', 'arrow_function', 'method_definition'],
  *propose(node, file) {
    if (node.type === 'expression_statement') {
      const [value] = node.namedChildren;
      if (value === undefined || functionOf(node) === null || value.type === 'string') return;
      if (/_expression$|^identifier$/.test(value.type)) yield replace(node, `return ${node.text}`, dropWeight(value));
      return;
    }
    const body = node.child('body');
    if (body?.type !== 'statement_block') {
      if (body !== null) yield* returned(node, body);
      return;
    }
    const last = body.namedChildren.at(-1);
    if (last === undefined || isExit(last)) return;
    yield* atEnd(file, last);
  },
};

function* atEnd(file: ScriptFile, last: SyntaxNode): Generator<Proposal> {
  const locals = file.names(last).filter((info) => info.local && info.kind !== 'function' && info.boundAt <= last.end);
  for (const info of locals) yield insertAfter(file, last, `return ${info.name}${file.end}`, info.declared === 'parameter' ? 0.5 : 0.8);
  for (const value of ['false', 'true', 'null']) yield insertAfter(file, last, `return ${value}${file.end}`, 0.3);
}

/** `(x) => (f(x), x)`: the value of a step is dropped for that of another. */
function* returned(node: SyntaxNode, body: SyntaxNode): Generator<Proposal> {
  const parameter = node.child('parameter') ?? node.child('parameters')?.namedChildren[0];
  const name = parameter?.child('pattern')?.text ?? parameter?.text;
  if (name !== undefined && /^\w+$/.test(name) && body.type === 'call_expression') yield replace(body, `(${body.text}, ${name})`, 0.1);
}

function dropWeight(value: SyntaxNode): number {
  if (/assignment_expression$|^update_expression$/.test(value.type)) return 0.1;
  // A value that does nothing was meant to be returned.
  if (!/^(call|await|new|yield)_expression$/.test(value.type)) return 4;
  const mutation = /^(push|add|set|delete|sort|splice|unshift|shift|pop|log|forEach|clear|reverse|write|emit)$/;
  return value.type === 'call_expression' && mutation.test(calledName(value)?.text ?? '') ? 0.15 : 1;
}

/** An error that is made and not thrown, returned instead of thrown, or thrown instead of passed over. */
const missingThrow: Operator = {
  name: 'missing-throw',
  prior: 0.4,
  on: ['expression_statement', 'return_statement', 'throw_statement'],
  *propose(node, file) {
    const [value] = node.namedChildren;
    const isError = value?.type === 'new_expression' && /Error\(/.test(value.text);
    if (node.type === 'throw_statement') {
      for (const after of ['return null', 'return undefined', 'return false']) yield replace(node, `${after}${file.end}`, 0.2);
      return;
    }
    if (isError) yield replace(node, `throw ${value.text}${file.end}`, 4);
  },
};

/** A function returns another variable than it should, or one of the usual constants. */
const returnValue: Operator = {
  name: 'return-value',
  prior: 0.5,
  on: ['return_statement'],
  propose: (node, file) =>
    otherResults(node, file, ['null', 'undefined', '0', 'true', 'false', '[]', "''"], { true: 'false', false: 'true' }),
};

/** The wrong way out of a loop. */
const loopExit: Operator = {
  name: 'loop-exit',
  prior: 0.7,
  on: ['break_statement', 'continue_statement', 'return_statement'],
  *propose(node, file) {
    const holder = node.ancestor(...loops, ...functions, 'switch_statement')?.type;
    if (holder === undefined || !/^(for|for_in|while|do)_statement$/.test(holder)) return;
    yield* otherExits(node, file, ['false', 'true', 'null']);
  },
};

/** The start, the direction or the source of a loop: `in` for `of`, all but the first, in another order. */
const loopBounds: Operator = {
  name: 'loop-bounds',
  prior: 0.6,
  on: ['for_statement', 'for_in_statement'],
  *propose(node) {
    if (node.type === 'for_statement') {
      yield* countedLoop(node);
      return;
    }
    const source = node.child('right');
    if (source === null) return;
    const word = node.children.find((child) => child.type === 'in' || child.type === 'of');
    if (word?.type === 'in') yield replace(word, 'of', 3);
    const text = bracketed(source);
    yield replace(source, `${text}.slice(1)`, 0.6);
    yield replace(source, `${text}.slice(0, -1)`, 0.4);
    yield replace(source, `[...${text}]`, 0.3);
    yield replace(source, `[...${text}].reverse()`, 0.5);
    yield replace(source, `Object.entries(${source.text})`, 0.4);
    yield replace(source, `Object.keys(${source.text})`, 0.3);
    yield replace(source, `Object.values(${source.text})`, 0.3);
    yield replace(source, `${text}.entries()`, 0.3);
  },
};

function* countedLoop(node: SyntaxNode): Generator<Proposal> {
  const [start, step] = [node.child('initializer')?.namedChildren[0]?.child('value'), node.child('increment')];
  if (start?.type === 'number') {
    for (const after of ['0', '1']) if (after !== start.text) yield replace(start, after, 0.5);
  } else if (start != null) {
    yield replace(start, `${bracketed(start)} + 1`, 0.6);
    yield replace(start, `${bracketed(start)} - 1`, 0.6);
  }
  if (step?.type === 'update_expression') {
    const name = step.child('argument')?.text ?? '';
    yield replace(step, step.text.includes('++') ? `${name}--` : `${name}++`, 0.4);
    yield replace(step, `${name} += 2`, 0.2);
  }
}

/** A counter that one branch or the loop forgets to move. */
const increment: Operator = {
  name: 'increment',
  prior: 0.4,
  on: ['while_statement', 'for_statement', 'for_in_statement', 'if_statement', 'else_clause'],
  *propose(node, file) {
    const last = lastOf(node);
    if (last === null || isExit(last) || !file.ownsLines(last)) return;
    const counters = file
      .names(last)
      .filter((info) => info.local && info.kind === 'number' && info.boundAt <= last.start && info.declared !== 'const');
    for (const { name, declared } of counters) {
      const looped = node.type === 'while_statement' && conditionOf(node)?.text.includes(name) === true;
      yield* counted(file, last, name, looped, declared === 'parameter' ? 0.2 : 0.6);
    }
  },
};

function lastOf(node: SyntaxNode): SyntaxNode | null {
  const block = node.child('body') ?? node.child('consequence') ?? node.children.find((child) => child.type === 'statement_block');
  const first = block?.type === 'statement_block' ? block.namedChildren[0] : undefined;
  return first === undefined ? null : (siblingsOf(first).at(-1) ?? null);
}

/** Operators of this file. */
export const exits: readonly Operator[] = [missingReturn, missingThrow, returnValue, loopExit, loopBounds, increment];
