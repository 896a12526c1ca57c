import { brief, replace, type Operator } from '../operator.ts';
import { boundNames } from '../names.ts';

/** A declaration that hides another one, a `var` that all rounds share, a `const` that changes. */
export const declaration: Operator = {
  name: 'declaration',
  prior: 0.5,
  on: ['lexical_declaration', 'variable_declaration'],
  *propose(node, file) {
    const [word] = node.children;
    const [declarator] = node.namedChildren;
    if (word === undefined || declarator === undefined) return;
    if (word.type === 'const') yield replace(word, 'let', 0.2);
    if (word.type === 'var') yield replace(word, 'let', 1);
    const value = declarator.child('value');
    const [name] = [...boundNames(declarator.child('name') ?? declarator)];
    if (node.type !== 'lexical_declaration' || value === null || name === undefined || node.namedChildren.length > 1) return;
    const holder = node.ancestor('statement_block', 'for_statement', 'program');
    const outer =
      holder?.parent == null ? [] : file.names(holder.parent).filter((info) => info.name === name.text && info.declared !== 'const');
    if (outer.length === 0) return;
    const end = node.text.endsWith(';') ? ';' : '';
    yield replace(node, `${name.text} = ${value.text}${end}`, 3, `assign to the outer ${brief(name.text)}`);
  },
};
