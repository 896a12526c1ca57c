import { testOperator } from '../testing/table.ts';
import { reuseExpression } from './reuseExpression.ts';

testOperator(reuseExpression, [
  {
    before: 'function f(key) {\n  const name = key.trim();\n  map.set(key, name);\n}\n',
    after: 'function f(key) {\n  const name = key.trim();\n  map.set(key.trim(), name);\n}\n',
  },
]);
