import { spending } from './scenarios/spending.ts';
import { crashSuite } from './suite.ts';

crashSuite('tasks of a pool that caps what is spent', spending);
