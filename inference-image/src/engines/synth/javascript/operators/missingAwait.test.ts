import { testOperator } from '../testing/table.ts';
import { missingAwait } from './missingAwait.ts';

testOperator(missingAwait, [
  {
    before: 'async function f(load) {\n  const x = load();\n  return x;\n}\n',
    after: 'async function f(load) {\n  const x = await load();\n  return x;\n}\n',
  },
  {
    before: 'async function f(list) {\n  return await list.map(g);\n}\n',
    after: 'async function f(list) {\n  return await Promise.all(list.map(g));\n}\n',
  },
  { before: 'async function f(load) {\n  return load().name;\n}\n', after: 'async function f(load) {\n  return (await load()).name;\n}\n' },
]);
