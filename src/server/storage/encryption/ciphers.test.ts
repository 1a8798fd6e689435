// Tests the ciphers by published vectors, and that nothing that was changed or moved is taken for the value.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemRandom } from '../../../base/random.ts';
import type { Random } from '../../../base/random.ts';
import { aesCbc, aesGcm, derivedAesGcm, expandedKey, secretbox } from './ciphers.ts';
import { Undecryptable, identity, prefixed } from './transformer.ts';
import type { Transformer } from './transformer.ts';

const hex = (text: string): Buffer => Buffer.from(text, 'hex');
const fixed = (bytes: Buffer): Random => ({ next: () => 0, bytes: (length) => bytes.subarray(0, length) });

const vectors = [
  {
    name: 'AES-CBC (NIST SP 800-38A, F.2.1, without its padding)',
    make: aesCbc,
    key: '2b7e151628aed2a6abf7158809cf4f3c',
    nonce: '000102030405060708090a0b0c0d0e0f',
    plain: '6bc1bee22e409f96e93d7e117393172a',
    cipher: '7649abac8119b246cee98e9b12e9197d',
    padded: true,
  },
  {
    name: 'AES-GCM (McGrew and Viega, test case 3)',
    make: aesGcm,
    key: 'feffe9928665731c6d6a8f9467308308',
    nonce: 'cafebabefacedbaddecaf888',
    plain:
      'd9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255',
    cipher:
      '42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f59854d5c2af327cd64a62cf35abd2ba6fab4',
  },
  {
    name: "secretbox (NaCl's own test)",
    make: secretbox,
    key: '1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389',
    nonce: '69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37',
    plain:
      'be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f937763848645e0705',
    cipher:
      'f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5',
  },
];

describe('ciphers of encryption at rest', () => {
  for (const { name, make, key, nonce, plain, cipher, padded } of vectors)
    it(name, async () => {
      const transformer = make(hex(key), fixed(hex(nonce)));
      const stored = Buffer.from(transformer.toStorage(hex(plain), ''));
      const expected = nonce + cipher;
      assert.equal(padded ? stored.toString('hex').slice(0, expected.length) : stored.toString('hex'), expected);
      assert.equal(Buffer.from((await transformer.fromStorage(stored, '')).value).toString('hex'), plain);
    });

  it('keys are expanded from a seed (RFC 5869, A.1)', () => {
    const seed = hex('077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5');
    const okm = '3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf';
    assert.equal(Buffer.from(expandedKey(seed, hex('f0f1f2f3f4f5f6f7f8f9'))).toString('hex'), okm);
  });

  for (const [name, make] of Object.entries({ aesGcm, secretbox, derivedAesGcm }))
    it(`${name} takes no changed byte, no shortened value and no other key`, () => {
      const transformer = make(Buffer.alloc(32, 1), systemRandom);
      const stored = Buffer.from(transformer.toStorage(Buffer.from('secret'), '/a'));
      const refused = (bytes: Uint8Array, by: Transformer = transformer) =>
        assert.throws(() => void by.fromStorage(bytes, '/a'), Undecryptable);
      for (let at = 0; at < stored.length; at++) {
        const changed = Buffer.from(stored);
        changed[at]! ^= 1;
        refused(changed);
        refused(stored.subarray(0, at));
      }
      refused(stored, make(Buffer.alloc(32, 2), systemRandom));
    });

  for (const [name, make] of Object.entries({ aesGcm, derivedAesGcm }))
    it(`${name} binds the value to its place`, () => {
      const transformer = make(Buffer.alloc(32, 1), systemRandom);
      const stored = transformer.toStorage(Buffer.from('secret'), '/registry/secrets/a/one');
      assert.throws(() => void transformer.fromStorage(stored, '/registry/secrets/a/two'), Undecryptable);
    });

  it('the first of several writes, all read, what is not from the first is stale', async () => {
    const one = { prefix: 'one:', transformer: aesGcm(Buffer.alloc(32, 1), systemRandom) };
    const two = { prefix: 'two:', transformer: aesGcm(Buffer.alloc(32, 2), systemRandom) };
    const plain = { prefix: '', transformer: identity };
    const before = prefixed([one, plain], 'nobody');
    const after = prefixed([two, one, plain], 'nobody');
    const value = Buffer.from('value');
    const read = async (by: Transformer, stored: Uint8Array) => {
      const { value: opened, stale } = await by.fromStorage(stored, '/k');
      return [Buffer.from(opened).toString(), stale];
    };
    const old = before.toStorage(value, '/k');
    assert.equal(Buffer.from(old.subarray(0, 4)).toString(), 'one:');
    assert.deepEqual(await read(before, old), ['value', false]);
    assert.deepEqual(await read(after, old), ['value', true]);
    assert.deepEqual(await read(after, after.toStorage(value, '/k')), ['value', false]);
    assert.deepEqual(await read(after, value), ['value', true]);
    assert.throws(() => void prefixed([two], 'nobody').fromStorage(old, '/k'), /nobody/);
    assert.throws(() => void identity.fromStorage(Buffer.from('k8s:enc:aesgcm:v1:x'), '/k'), Undecryptable);
    // Back to plain text: the encrypted values are still found, wherever identity stands.
    const back = prefixed([plain, one], 'nobody');
    assert.deepEqual(await read(back, old), ['value', true]);
    assert.deepEqual(await read(back, value), ['value', false]);
  });
});
