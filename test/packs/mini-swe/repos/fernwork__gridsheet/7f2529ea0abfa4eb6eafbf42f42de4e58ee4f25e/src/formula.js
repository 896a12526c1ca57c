import { cellsOf } from './address.js';
import { functions } from './functions.js';

const pattern = /\s*(\d+(?:\.\d+)?|[A-Z]+\d+(?::[A-Z]+\d+)?|[A-Z]+(?=\()|[-+*/(),])/y;

export function tokenize(text) {
  const tokens = [];
  pattern.lastIndex = 0;
  while (pattern.lastIndex < text.length) {
    const at = pattern.lastIndex;
    const match = pattern.exec(text);
    if (match === null) throw new Error(`unexpected ${text[at]}`);
    tokens.push(match[1]);
  }
  return tokens;
}

/** Value of a formula without its "="; `cell` gives the value of an address. */
export function evaluate(text, cell) {
  const tokens = tokenize(text);
  const value = sum(tokens, cell);
  if (tokens.length > 0) throw new Error(`unexpected ${tokens[0]}`);
  return value;
}

function sum(tokens, cell) {
  let value = product(tokens, cell);
  while (tokens[0] === '+' || tokens[0] === '-') {
    const operator = tokens.shift();
    const right = product(tokens, cell);
    value = operator === '+' ? value + right : value - right;
  }
  return value;
}

function product(tokens, cell) {
  const left = atom(tokens, cell);
  if (tokens[0] !== '*' && tokens[0] !== '/') return left;
  const operator = tokens.shift();
  const right = product(tokens, cell);
  return operator === '*' ? left * right : left / right;
}

function atom(tokens, cell) {
  const token = tokens.shift();
  if (token === undefined) throw new Error('unexpected end');
  if (token === '(') {
    const value = sum(tokens, cell);
    tokens.shift();
    return value;
  }
  if (/^\d/.test(token)) return Number(token);
  if (/^[A-Z]+$/.test(token)) return call(token, tokens, cell);
  return cell(token);
}

function call(name, tokens, cell) {
  const values = [];
  tokens.shift();
  while (tokens[0] !== ')') {
    if (tokens[0].includes(':')) values.push(...cellsOf(tokens.shift()).map(cell));
    else values.push(sum(tokens, cell));
    if (tokens[0] === ',') tokens.shift();
  }
  tokens.shift();
  return functions[name](values);
}
