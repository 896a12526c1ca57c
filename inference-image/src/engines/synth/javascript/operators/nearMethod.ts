import type { ScriptFile } from '../file.ts';
import type { Kind } from '../names.ts';
import { replace, type Operator } from '../operator.ts';
import { calledName, receiverOf, type SyntaxNode } from '../syntax.ts';

/** Names that people take for one another. */
const families: readonly (readonly string[])[] = [
  ['indexOf', 'lastIndexOf', 'findIndex', 'findLastIndex', 'search'],
  ['indexOf', 'includes'],
  ['includes', 'has', 'some'],
  ['startsWith', 'endsWith', 'includes'],
  ['push', 'unshift', 'concat'],
  ['pop', 'shift'],
  ['push', 'add'],
  ['pop', 'at', 'slice'],
  ['shift', 'slice'],
  ['map', 'forEach', 'filter', 'flatMap'],
  ['find', 'filter', 'findLast', 'findIndex'],
  ['some', 'every'],
  ['slice', 'splice', 'substring', 'substr', 'toSpliced'],
  ['min', 'max'],
  ['floor', 'ceil', 'round', 'trunc'],
  ['trim', 'trimStart', 'trimEnd'],
  ['padStart', 'padEnd'],
  ['toLowerCase', 'toUpperCase'],
  ['replace', 'replaceAll'],
  ['keys', 'values', 'entries'],
  ['get', 'has', 'delete'],
  ['set', 'get', 'add'],
  ['has', 'hasOwn'],
  ['reduce', 'reduceRight'],
  ['sort', 'toSorted'],
  ['reverse', 'toReversed'],
  ['splice', 'toSpliced'],
  ['match', 'matchAll', 'test', 'exec'],
  ['parseInt', 'parseFloat', 'Number'],
  ['isNaN', 'isFinite', 'isInteger'],
  ['all', 'allSettled', 'any', 'race'],
  ['getDate', 'getDay'],
  ['getDate', 'getUTCDate'],
  ['getDay', 'getUTCDay'],
  ['getMonth', 'getUTCMonth'],
  ['getHours', 'getUTCHours'],
  ['getFullYear', 'getUTCFullYear', 'getYear'],
  ['charAt', 'charCodeAt', 'codePointAt', 'at'],
  ['flat', 'flatMap'],
  ['then', 'catch', 'finally'],
  ['encodeURI', 'encodeURIComponent'],
  ['decodeURI', 'decodeURIComponent'],
  ['assign', 'create', 'fromEntries'],
  ['sign', 'abs'],
  ['log2', 'log10', 'log'],
];

/** What is called for what it does, not for what it returns. */
const acting = /^(push|unshift|pop|shift|splice|sort|reverse|fill|add|delete|set|clear|forEach|assign|then|catch|finally)$/;
/** What takes no argument, or none that a caller would give. */
const bare = /^(pop|shift|trim|trimStart|trimEnd|toLowerCase|toUpperCase|reverse|toReversed)$/;

/** Methods that only one kind of value has. */
const kinds = new Map<string, readonly Kind[]>([
  ['push', ['array']],
  ['unshift', ['array']],
  ['splice', ['array']],
  ['add', ['set']],
  ['has', ['set', 'map']],
  ['some', ['array']],
  ['concat', ['array', 'string']],
  ['substring', ['string']],
  ['substr', ['string']],
  ['includes', ['array', 'string']],
  ['search', ['string']],
]);

/** A near sibling of a method or function: `every` for `some`, `ceil` for `floor`. */
export const nearMethod: Operator = {
  name: 'near-method',
  prior: 0.9,
  on: ['call_expression'],
  *propose(node, file) {
    const name = calledName(node);
    if (name === null) return;
    const family = families.filter((names) => names.includes(name.text));
    for (const [rank, names] of family.entries()) {
      for (const other of names) {
        const weight = other === name.text ? 0 : (rank === 0 ? 1 : 0.5) * plausibility(other, node, file);
        if (weight > 0) yield replace(name, other, weight);
      }
    }
  },
};

/** Less for a method that the object cannot have, or that wants a function where there is none. */
function plausibility(method: string, call: SyntaxNode, file: ScriptFile): number {
  const object = receiverOf(call);
  const first = call.child('arguments')?.namedChildren[0];
  const takesFunction = /^(find|some|every|map|forEach|filter|flatMap|reduce|findIndex|findLast|findLastIndex|reduceRight)$/.test(method);
  const given = first === undefined ? 'unknown' : file.kind(first);
  const suits = first === undefined ? 1 : takesFunction === (given === 'function') ? 1 : given === 'unknown' ? 0.3 : 0.1;
  const isDropped = call.parent?.type === 'expression_statement' && call.child('function')?.type === 'member_expression';
  const fits = suits * (isDropped && !acting.test(method) ? 0.1 : 1) * (first !== undefined && bare.test(method) ? 0.1 : 1);
  const wanted = kinds.get(method);
  const kind = object === null ? 'unknown' : file.kind(object);
  return fits * (wanted === undefined || kind === 'unknown' || wanted.includes(kind) ? 1 : 0.1);
}
