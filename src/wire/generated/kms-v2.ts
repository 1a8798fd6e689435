// Generated from facts/protos by tools/generate; run `npm run generate`.
import { method } from '../grpc-service.ts';
import { message, type Message } from '../protobuf.ts';

export interface StatusRequest {

}
export const StatusRequest: Message<StatusRequest> = message('v2.StatusRequest', () => [

]);

export interface StatusResponse {
  version: string;
  healthz: string;
  keyId: string;
}
export const StatusResponse: Message<StatusResponse> = message('v2.StatusResponse', () => [
  [1, 'version', 'string', 'one'],
  [2, 'healthz', 'string', 'one'],
  [3, 'keyId', 'string', 'one'],
]);

export interface DecryptRequest {
  ciphertext: Uint8Array;
  uid: string;
  keyId: string;
  annotations: Record<string, Uint8Array>;
}
export const DecryptRequest: Message<DecryptRequest> = message('v2.DecryptRequest', () => [
  [1, 'ciphertext', 'bytes', 'one'],
  [2, 'uid', 'string', 'one'],
  [3, 'keyId', 'string', 'one'],
  [4, 'annotations', 'bytes', 'map', 'string'],
]);

export interface DecryptResponse {
  plaintext: Uint8Array;
}
export const DecryptResponse: Message<DecryptResponse> = message('v2.DecryptResponse', () => [
  [1, 'plaintext', 'bytes', 'one'],
]);

export interface EncryptRequest {
  plaintext: Uint8Array;
  uid: string;
}
export const EncryptRequest: Message<EncryptRequest> = message('v2.EncryptRequest', () => [
  [1, 'plaintext', 'bytes', 'one'],
  [2, 'uid', 'string', 'one'],
]);

export interface EncryptResponse {
  ciphertext: Uint8Array;
  keyId: string;
  annotations: Record<string, Uint8Array>;
}
export const EncryptResponse: Message<EncryptResponse> = message('v2.EncryptResponse', () => [
  [1, 'ciphertext', 'bytes', 'one'],
  [2, 'keyId', 'string', 'one'],
  [3, 'annotations', 'bytes', 'map', 'string'],
]);

export const KeyManagementService = {
  status: method('/v2.KeyManagementService/Status', StatusRequest, StatusResponse, false, false),
  decrypt: method('/v2.KeyManagementService/Decrypt', DecryptRequest, DecryptResponse, false, false),
  encrypt: method('/v2.KeyManagementService/Encrypt', EncryptRequest, EncryptResponse, false, false),
};
