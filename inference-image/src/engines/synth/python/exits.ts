import { replace, insertAfter, counted, otherExits, otherResults } from '../language/forms.ts';
import type { Proposal } from '../language/language.ts';
import { type Operator, bracketed } from './operator.ts';
import type { SyntaxNode } from '../language/syntax.ts';
import { functionOf } from './names.ts';

/** A value that is computed and dropped, or a function that runs off its end. */
const missingReturn: Operator = {
  name: 'missing-return',
  prior: 0.5,
  on: ['expression_statement', 'function_definition'],
  *propose(node, file) {
    if (node.type === 'expression_statement') {
      const [value] = node.namedChildren;
      if (value === undefined || node.ancestor('function_definition') === null) return;
      if (value.type === 'call') yield replace(node, `return ${value.text}`, isMutation(value) ? 0.1 : 1);
      if (value.type === 'comparison_operator' || value.type === 'identifier') yield replace(node, `return ${value.text}`);
      return;
    }
    const last = node.child('body')?.namedChildren.at(-1);
    if (last === undefined || ['return_statement', 'raise_statement'].includes(last.type)) return;
    const locals = file.names(last).filter((info) => info.local && info.kind !== 'callable');
    for (const info of locals) yield insertAfter(file, last, `return ${info.name}`, 0.8);
    for (const value of ['False', 'True', '0']) yield insertAfter(file, last, `return ${value}`, 0.4);
  },
};

function isMutation(call: SyntaxNode): boolean {
  return /\.(append|add|extend|update|pop|remove|insert|sort|clear|write|discard|setdefault)$/.test(call.child('function')?.text ?? '');
}

/** A function returns another variable than it should, or one of the usual constants. */
const returnValue: Operator = {
  name: 'return-value',
  prior: 0.5,
  on: ['return_statement'],
  propose: (node, file) => otherResults(node, file, ['None', '0', 'True', 'False', '[]'], { true: 'False', false: 'True' }),
};

/** The wrong way out of a loop. */
const loopExit: Operator = {
  name: 'loop-exit',
  prior: 0.7,
  on: ['break_statement', 'continue_statement', 'pass_statement', 'return_statement'],
  *propose(node, file) {
    const holder = node.ancestor('for_statement', 'while_statement', 'function_definition')?.type;
    if (holder === undefined || holder === 'function_definition') return;
    yield* otherExits(node, file, ['False', 'True', 'None']);
  },
};

/** The start, the end or the order of a loop. */
const loopRange: Operator = {
  name: 'loop-range',
  prior: 0.5,
  on: ['for_statement', 'for_in_clause'],
  *propose(node) {
    const source = node.child('right');
    if (source === null) return;
    if (source.type === 'call' && source.child('function')?.text === 'range') {
      yield* ranges(source);
      return;
    }
    const text = bracketed(source);
    yield replace(source, `${text}[1:]`, 0.6);
    yield replace(source, `${text}[:-1]`, 0.5);
    yield replace(source, `reversed(${source.text})`, 0.5);
    yield replace(source, `sorted(${source.text})`, 0.5);
    yield replace(source, `list(${source.text})`, 0.3);
    yield replace(source, `enumerate(${source.text})`, 0.2);
    if (['sorted', 'reversed', 'list'].includes(source.child('function')?.text ?? '')) {
      const inner = source.child('arguments')?.namedChildren[0];
      if (inner !== undefined) yield replace(source, inner.text, 0.4);
    }
  },
};

function* ranges(call: SyntaxNode): Generator<Proposal> {
  const list = call.child('arguments');
  const args = list?.namedChildren ?? [];
  const [first, second] = args.map((arg) => arg.text);
  if (first === undefined) return;
  if (args.length === 1) {
    yield replace(call, `range(1, ${first})`, 1);
    yield replace(call, `range(1, ${first} + 1)`, 1);
    yield replace(call, `range(len(${first}))`, 0.2);
    yield replace(call, `range(${first} - 1, -1, -1)`, 0.4);
  } else if (args.length === 2) {
    yield replace(call, `range(${second ?? ''})`, 0.5);
    yield replace(call, `range(${second ?? ''}, ${first}, -1)`, 0.3);
  }
}

/** A counter that one branch or the loop forgets to move. */
const increment: Operator = {
  name: 'increment',
  prior: 0.4,
  on: ['while_statement', 'for_statement', 'if_statement', 'else_clause', 'elif_clause'],
  *propose(node, file) {
    const block = node.child('body') ?? node.child('consequence');
    const last = block?.namedChildren.at(-1);
    if (last === undefined || /^(return|break|continue|raise)_/.test(last.type)) return;
    const numbers = file.names(last).filter((info) => info.local && info.kind === 'number' && info.boundAt < last.start);
    for (const { name } of numbers) {
      const looped = node.type === 'while_statement' && (node.child('condition')?.text.includes(name) ?? false);
      yield* counted(file, last, name, looped, isParameter(node, name) ? 0.2 : 0.6);
    }
  },
};

function isParameter(node: SyntaxNode, name: string): boolean {
  return (
    functionOf(node)
      ?.child('parameters')
      ?.namedChildren.some((parameter) => parameter.text === name) === true
  );
}

/** Operators of this file. */
export const exits: readonly Operator[] = [missingReturn, returnValue, loopExit, loopRange, increment];
