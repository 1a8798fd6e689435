// Generated from facts/protos by tools/generate; run `npm run generate`.
import { enumType, message, type Message } from '../protobuf.ts';

export interface UserAddOptions {
  noPassword: boolean;
}
export const UserAddOptions: Message<UserAddOptions> = message('authpb.UserAddOptions', () => [
  [1, 'noPassword', 'bool', 'one'],
]);

export interface User {
  name: Uint8Array;
  password: Uint8Array;
  roles: string[];
  options?: UserAddOptions;
}
export const User: Message<User> = message('authpb.User', () => [
  [1, 'name', 'bytes', 'one'],
  [2, 'password', 'bytes', 'one'],
  [3, 'roles', 'string', 'rep'],
  [4, 'options', UserAddOptions, 'opt'],
]);

export interface Permission {
  permType: PermissionType;
  key: Uint8Array;
  rangeEnd: Uint8Array;
}
export const Permission: Message<Permission> = message('authpb.Permission', () => [
  [1, 'permType', PermissionType, 'one'],
  [2, 'key', 'bytes', 'one'],
  [3, 'rangeEnd', 'bytes', 'one'],
]);

export type PermissionType = 'READ' | 'WRITE' | 'READWRITE';
export const PermissionType = enumType({ READ: 0, WRITE: 1, READWRITE: 2 });

export interface Role {
  name: Uint8Array;
  keyPermission: Permission[];
}
export const Role: Message<Role> = message('authpb.Role', () => [
  [1, 'name', 'bytes', 'one'],
  [2, 'keyPermission', Permission, 'rep'],
]);
