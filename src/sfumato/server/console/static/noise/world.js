// One cubic grid through the whole earth, fixed in advance: no zones, no poles, no antimeridian. The same grid, slack
// and inner epsilon as src/sfumato/geo (frames.Worldwide, mechanism.LocationMechanism).

import { fraction, level } from "./reals.js";
import { LatticeNoise } from "./lattice.js";

const EQUATOR = 6378137, FLATTENING = 1 / 298.257223563, POLE = EQUATOR * (1 - FLATTENING);
const SQUARED = FLATTENING * (2 - FLATTENING), SECOND = SQUARED / (1 - SQUARED);
const RADIANS = Math.PI / 180;

/** Earth-centred metres of a position on the ellipsoid. */
export function toMetres(lat, lon) {
  const phi = lat * RADIANS, lam = lon * RADIANS, sine = Math.sin(phi);
  const normal = EQUATOR / Math.sqrt(1 - SQUARED * sine * sine), across = normal * Math.cos(phi);
  return [across * Math.cos(lam), across * Math.sin(lam), normal * (1 - SQUARED) * sine];
}

/** Latitude and longitude straight below or above a point, with seven decimals. */
export function toDegrees([x, y, z]) {
  const across = Math.hypot(x, y), theta = Math.atan2(z * EQUATOR, across * POLE);
  const up = z + SECOND * POLE * Math.sin(theta) ** 3;
  const out = Math.max(across - SQUARED * EQUATOR * Math.cos(theta) ** 3, 0);
  const round = (value) => Math.round(value * 1e7) / 1e7 + 0;
  const lon = round(Math.atan2(y, x) / RADIANS);
  return [round(Math.atan2(up, out) / RADIANS), lon >= 180 ? lon - 360 : lon];
}

/** The largest of 1, 2, 5 times a power of ten that is at most p/q, as a fraction. */
export function niceStep(p, q) {
  let a = 1n, b = 1n;
  while (a * q > p * b) b *= 10n;
  while (10n * a * q <= p * b) a *= 10n;
  const most = [5n, 2n, 1n].find((n) => n * a * q <= p * b);
  return [most * a, b];
}

export class LocationMechanism {
  /** Level `text` ("ln 4") within `metres`; the grid step is radius/200 or a little less. */
  constructor(text, metres) {
    this.level = level(text);
    const [p, q] = fraction(metres);
    if (p === 0n) throw new RangeError("a radius is above 0");
    this.radius = [p, q];
    this.step = niceStep(p, q * 200n);
    // slack = 1.73206 step + 2 mm; inner epsilon = level/(radius + slack) per metre, times step per grid step
    this.slack = [173206n * this.step[0] * 1000n + 2n * 100000n * this.step[1], 100000n * this.step[1] * 1000n];
    const [top, bottom] = [p * this.slack[1] + this.slack[0] * q, q * this.slack[1]];
    this.reach = [top, bottom];
    this.noise = new LatticeNoise(this.level.scaled(bottom * this.step[0], top * this.step[1]), 3);
    this.metres = Number(this.step[0]) / Number(this.step[1]);
  }

  /** The grid point of a position: three BigInts. */
  toGrid(lat, lon) {
    if (!(Math.abs(lat) <= 90 && Math.abs(lon) <= 360)) throw new RangeError("not a position on earth");
    return toMetres(lat, lon).map((value) => BigInt(roundEven(value / this.metres)));
  }

  /** Degrees of a grid point: a function of nothing else. */
  fromGrid(point) {
    return toDegrees(point.map((value) => Number(value) * this.metres));
  }

  /** A radius that holds 95 % of reports, for the accuracy that sites are told: it depends on the level alone. */
  get accuracy() {
    return Math.ceil(5.36 / (this.noise.number / this.metres) + 2 * this.metres);
  }
}

function roundEven(value) {
  const low = Math.floor(value), rest = value - low;
  if (rest !== 0.5) return Math.round(value);
  return low % 2 === 0 ? low : low + 1;
}
