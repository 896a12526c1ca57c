import { companions } from './scenarios/companions.ts';
import { crashSuite } from './suite.ts';

crashSuite('tasks beside others', companions);
