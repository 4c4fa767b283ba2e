export { printable } from '../../base/index.ts';
export { type Paint, type Progress, paintFor, progressOn } from './style.ts';
export { formatTable, type TableColumn } from './table.ts';
export { formatWaterfall } from './waterfall.ts';
export { wrapLines } from './wrap.ts';
