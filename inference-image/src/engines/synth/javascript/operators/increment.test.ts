import { testOperator } from '../testing/table.ts';
import { increment } from './increment.ts';

testOperator(increment, [
  {
    before: 'function f(list) {\n  let i = 0;\n  while (i < list.length) {\n    use(list[i]);\n  }\n}\n',
    after: 'function f(list) {\n  let i = 0;\n  while (i < list.length) {\n    use(list[i]);\n    i += 1;\n  }\n}\n',
  },
]);
