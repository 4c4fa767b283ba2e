import type { ModelTool } from './providers/index.ts';
import { READ_RESULT_TOOL } from './result-cap.ts';

/** Offered to the model once a result was cut. */
export const readResultTool: ModelTool = {
  name: READ_RESULT_TOOL,
  description: 'Reads a part of an earlier tool result that was too long to show. Offsets count characters.',
  parameters: {
    type: 'object',
    properties: {
      reference: { type: 'string', description: 'The reference given where the result was cut' },
      offset: { type: 'integer', minimum: 0, description: 'Where to begin' },
      length: { type: 'integer', minimum: 1, description: 'How many characters to read' },
    },
    required: ['reference'],
  },
};
