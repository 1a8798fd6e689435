// Owns memory for many small pieces of bytes that live about equally long. Knows nothing of what they are.

const slabBytes = 64 * 1024;
/** Larger pieces get memory of their own. */
const largestPiece = 8 * 1024;

/**
 * Gives out neighbouring pieces of larger ones. Node's own pool does so too, but for everybody: a piece that stays keeps the memory
 * of all its neighbours, so what stays must not lie among what goes.
 */
export class Slab {
  #slab = Buffer.alloc(0);
  #at = 0;

  take(size: number): Buffer {
    if (size > largestPiece) return Buffer.allocUnsafeSlow(size);
    if (this.#at + size > this.#slab.length) {
      this.#slab = Buffer.allocUnsafeSlow(slabBytes);
      this.#at = 0;
    }
    const piece = this.#slab.subarray(this.#at, this.#at + size);
    this.#at += size;
    return piece;
  }
}
