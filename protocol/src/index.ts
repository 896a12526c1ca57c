/** Data that crosses the parts of AgentFleet: schemas, static types, error codes. Imports nothing of the project. */
export * as api from './api/index.ts';
export * as inference from './inference/index.ts';
export * as keeper from './keeper/index.ts';
export * as pool from './pool/index.ts';
