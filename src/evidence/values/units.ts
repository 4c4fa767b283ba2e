/** Units and scales of numbers, as they are written. */
export type Dimension = keyof typeof UNIT_TABLES | 'ratio' | 'none';

/** Of each dimension the units with their size in its base unit, 1 if not given. */
const UNIT_TABLES = {
  percent: '% percent prozent pct ％',
  temperature: '°c °f ° c f degrees 度 celsius fahrenheit ℃',
  money:
    '$ € £ ¥ 円 元 美元 ドル usd eur gbp dollar dollars euro euros dólares cents=0.01 yuan rmb cny jpy yen',
  length:
    'mm=0.001 cm=0.01 m km=1000 meters metres meter kilometers=1000 kilometres=1000 mi=1609.344 mile=1609.344 miles=1609.344 ft=0.3048 feet=0.3048 in=0.0254 inch=0.0254 inches=0.0254 公里=1000 米',
  mass: 'mg=0.001 g kg=1000 grams gram kilograms=1000 lb=453.592 lbs=453.592 pounds=453.592 oz=28.3495 ounces=28.3495 ml l=1000 liters=1000 克 毫升',
  time: 'ms=0.001 s sec secs second seconds min=60 mins=60 minute=60 minutes=60 minuten=60 minutos=60 h=3600 hr=3600 hrs=3600 hour=3600 hours=3600 stunden=3600 horas=3600 heures=3600 day=86400 days=86400 tage=86400 días=86400 jours=86400 week=604800 weeks=604800 month=2629800 months=2629800 year=31557600 years=31557600 分钟=60 小时=3600 時間=3600 天=86400 年=31557600',
  data: 'b kb=1e3 mb=1e6 gb=1e9 tb=1e12 bytes kib=1024 mib=1048576 gib=1073741824',
  speed: 'm/s km/h=0.277778 kmh=0.277778 kph=0.277778 mph=0.44704 knots=0.514444',
};

/** Names and their numbers: `km=1000 m`. */
export const sizesIn = (table: string): (readonly [name: string, size: number])[] =>
  table.split(' ').map((entry) => {
    const [name = '', size = '1'] = entry.split('=');
    return [name, Number(size)] as const;
  });

export const UNITS: ReadonlyMap<string, readonly [Dimension, size: number]> = new Map(
  Object.entries(UNIT_TABLES).flatMap(([dimension, table]) =>
    sizesIn(table).map(([unit, size]) => [unit, [dimension as Dimension, size] as const] as const),
  ),
);

const SCALE_TABLE =
  'k=1e3 thousand=1e3 tausend=1e3 mil=1e3 mille=1e3 千=1e3 万=1e4 萬=1e4 m=1e6 mio=1e6 mn=1e6 million=1e6 millions=1e6 millionen=1e6 millones=1e6 milhões=1e6 百万=1e6 亿=1e8 億=1e8 b=1e9 bn=1e9 billion=1e9 billions=1e9 milliarden=1e9 mrd=1e9 milliards=1e9 t=1e12 tn=1e12 trillion=1e12 trillions=1e12 billionen=1e12 兆=1e12';
export const SCALES: ReadonlyMap<string, number> = new Map(sizesIn(SCALE_TABLE));

const MEASURES: ReadonlySet<Dimension> = new Set(['length', 'mass', 'time', 'data', 'speed']);
/** The sizes that the units of a measure have; none of what has no other unit. */
export const listSizes = (dimension: Dimension): readonly number[] =>
  MEASURES.has(dimension)
    ? [...new Set([...UNITS.values()].flatMap(([of, size]) => (of === dimension ? [size] : [])))]
    : [];
