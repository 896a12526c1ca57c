/** Objects and methods of Python that would decide what assertions say. Part of `rails`: may import protocol, kube and the keeper's client. */
import type { Node } from '../../syntax/node.ts';
import type { Override } from '../override.ts';
import { classesOf, parametersOf } from './classes.ts';
import { decisive, suspicionOf } from './methods.ts';
import { outsideOf } from './outside.ts';
import { returnsOf } from './evidence.ts';

/** Lists the parts of a Python module that decide by themselves how assertions end. */
export function pythonOverrides(root: Node): readonly Override[] {
  const classes = classesOf(root);
  const family = { classes: new Map(classes.map((one) => [one.name, one])) };
  const out: Override[] = [];
  for (const cls of classes) {
    // The bases belong to it: the same method may be honest in another class.
    const bases = cls.bases.map(({ text }) => text).join();
    const add = (name: string, what: string, text: string): void => {
      out.push({ where: `${cls.name}.${name}`, what, text: `${bases} ${text}` });
    };
    for (const method of cls.methods) {
      const what = suspicionOf(method, cls, family);
      if (what !== null) add(method.name, what, method.node.text);
    }
    for (const [name, value] of cls.values)
      if (decisive.has(name) && value.type !== 'none') add(name, 'is a value whose answers its text does not tell', value.text);
  }
  return [...out, ...outsideOf(root), ...moduleAttributes(root)];
}

/** `__getattr__` of a module: it makes a name for whatever is asked. */
function moduleAttributes(root: Node): readonly Override[] {
  return root.children.flatMap((node) => {
    const name = node.children.find(({ field }) => field === 'name')?.text;
    if (node.type !== 'function_definition' || name !== '__getattr__') return [];
    const [given = ''] = parametersOf(node);
    const honest = returnsOf(node).every(({ value, facts }) =>
      [value?.text ?? given, ...facts.map(({ condition }) => condition.text)].some((text) => new RegExp(`\\b${given}\\b`).test(text)),
    );
    return honest ? [] : [{ where: name, what: 'answers for names of any kind', text: node.text }];
  });
}
