export { printable, printableLine } from '../../base/index.ts';
export { Output, type Paint } from './output.ts';
export { type Progress, progressOn } from './progress.ts';
export { formatTable, type TableColumn } from './table.ts';
export { formatWaterfall } from './waterfall.ts';
export { wrapLines } from './wrap.ts';
