// Uniform random words from the browser's cryptographic generator. Tests put a scripted source in its place.

export class SystemBits {
  #words = new Uint32Array(256);
  #at = 256;

  /** One word, uniform below 2^32. */
  word() {
    if (this.#at === this.#words.length) {
      crypto.getRandomValues(this.#words);
      this.#at = 0;
    }
    const word = this.#words[this.#at];
    this.#words[this.#at++] = 0;
    return word;
  }
}

/** A uniform BigInt below `size`, a positive BigInt: words of as many bits as it needs, drawn again while too large. */
export function uniform(size, bits) {
  const width = (size - 1n).toString(2).length;
  const words = Math.ceil(width / 32);
  for (;;) {
    let value = 0n;
    for (let i = 0; i < words; i++) value = (value << 32n) | BigInt(bits.word());
    value >>= BigInt(32 * words - width);
    if (value < size) return value;
  }
}
