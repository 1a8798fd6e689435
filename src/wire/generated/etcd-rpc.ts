// Generated from facts/protos by tools/generate; run `npm run generate`.
import { method } from '../grpc-service.ts';
import { enumType, message, type Message } from '../protobuf.ts';
import { Event, KeyValue } from './etcd-kv.ts';
import { Permission, UserAddOptions } from './etcd-auth.ts';

export type AlarmType = 'NONE' | 'NOSPACE' | 'CORRUPT';
export const AlarmType = enumType({ NONE: 0, NOSPACE: 1, CORRUPT: 2 });

export interface ResponseHeader {
  clusterId: bigint;
  memberId: bigint;
  revision: bigint;
  raftTerm: bigint;
}
export const ResponseHeader: Message<ResponseHeader> = message('etcdserverpb.ResponseHeader', () => [
  [1, 'clusterId', 'uint64', 'one'],
  [2, 'memberId', 'uint64', 'one'],
  [3, 'revision', 'int64', 'one'],
  [4, 'raftTerm', 'uint64', 'one'],
]);

export interface RangeRequest {
  key: Uint8Array;
  rangeEnd: Uint8Array;
  limit: bigint;
  revision: bigint;
  sortOrder: RangeRequestSortOrder;
  sortTarget: RangeRequestSortTarget;
  serializable: boolean;
  keysOnly: boolean;
  countOnly: boolean;
  minModRevision: bigint;
  maxModRevision: bigint;
  minCreateRevision: bigint;
  maxCreateRevision: bigint;
}
export const RangeRequest: Message<RangeRequest> = message('etcdserverpb.RangeRequest', () => [
  [1, 'key', 'bytes', 'one'],
  [2, 'rangeEnd', 'bytes', 'one'],
  [3, 'limit', 'int64', 'one'],
  [4, 'revision', 'int64', 'one'],
  [5, 'sortOrder', RangeRequestSortOrder, 'one'],
  [6, 'sortTarget', RangeRequestSortTarget, 'one'],
  [7, 'serializable', 'bool', 'one'],
  [8, 'keysOnly', 'bool', 'one'],
  [9, 'countOnly', 'bool', 'one'],
  [10, 'minModRevision', 'int64', 'one'],
  [11, 'maxModRevision', 'int64', 'one'],
  [12, 'minCreateRevision', 'int64', 'one'],
  [13, 'maxCreateRevision', 'int64', 'one'],
]);

export type RangeRequestSortOrder = 'NONE' | 'ASCEND' | 'DESCEND';
export const RangeRequestSortOrder = enumType({ NONE: 0, ASCEND: 1, DESCEND: 2 });

export type RangeRequestSortTarget = 'KEY' | 'VERSION' | 'CREATE' | 'MOD' | 'VALUE';
export const RangeRequestSortTarget = enumType({ KEY: 0, VERSION: 1, CREATE: 2, MOD: 3, VALUE: 4 });

export interface RangeResponse {
  header?: ResponseHeader;
  kvs: KeyValue[];
  more: boolean;
  count: bigint;
}
export const RangeResponse: Message<RangeResponse> = message('etcdserverpb.RangeResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
  [2, 'kvs', KeyValue, 'rep'],
  [3, 'more', 'bool', 'one'],
  [4, 'count', 'int64', 'one'],
]);

export interface PutRequest {
  key: Uint8Array;
  value: Uint8Array;
  lease: bigint;
  prevKv: boolean;
  ignoreValue: boolean;
  ignoreLease: boolean;
}
export const PutRequest: Message<PutRequest> = message('etcdserverpb.PutRequest', () => [
  [1, 'key', 'bytes', 'one'],
  [2, 'value', 'bytes', 'one'],
  [3, 'lease', 'int64', 'one'],
  [4, 'prevKv', 'bool', 'one'],
  [5, 'ignoreValue', 'bool', 'one'],
  [6, 'ignoreLease', 'bool', 'one'],
]);

export interface PutResponse {
  header?: ResponseHeader;
  prevKv?: KeyValue;
}
export const PutResponse: Message<PutResponse> = message('etcdserverpb.PutResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
  [2, 'prevKv', KeyValue, 'opt'],
]);

export interface DeleteRangeRequest {
  key: Uint8Array;
  rangeEnd: Uint8Array;
  prevKv: boolean;
}
export const DeleteRangeRequest: Message<DeleteRangeRequest> = message('etcdserverpb.DeleteRangeRequest', () => [
  [1, 'key', 'bytes', 'one'],
  [2, 'rangeEnd', 'bytes', 'one'],
  [3, 'prevKv', 'bool', 'one'],
]);

export interface DeleteRangeResponse {
  header?: ResponseHeader;
  deleted: bigint;
  prevKvs: KeyValue[];
}
export const DeleteRangeResponse: Message<DeleteRangeResponse> = message('etcdserverpb.DeleteRangeResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
  [2, 'deleted', 'int64', 'one'],
  [3, 'prevKvs', KeyValue, 'rep'],
]);

export interface RequestOp {
  requestRange?: RangeRequest;
  requestPut?: PutRequest;
  requestDeleteRange?: DeleteRangeRequest;
  requestTxn?: TxnRequest;
}
export const RequestOp: Message<RequestOp> = message('etcdserverpb.RequestOp', () => [
  [1, 'requestRange', RangeRequest, 'opt'],
  [2, 'requestPut', PutRequest, 'opt'],
  [3, 'requestDeleteRange', DeleteRangeRequest, 'opt'],
  [4, 'requestTxn', TxnRequest, 'opt'],
]);

export interface ResponseOp {
  responseRange?: RangeResponse;
  responsePut?: PutResponse;
  responseDeleteRange?: DeleteRangeResponse;
  responseTxn?: TxnResponse;
}
export const ResponseOp: Message<ResponseOp> = message('etcdserverpb.ResponseOp', () => [
  [1, 'responseRange', RangeResponse, 'opt'],
  [2, 'responsePut', PutResponse, 'opt'],
  [3, 'responseDeleteRange', DeleteRangeResponse, 'opt'],
  [4, 'responseTxn', TxnResponse, 'opt'],
]);

export interface Compare {
  result: CompareCompareResult;
  target: CompareCompareTarget;
  key: Uint8Array;
  version?: bigint;
  createRevision?: bigint;
  modRevision?: bigint;
  value?: Uint8Array;
  lease?: bigint;
  rangeEnd: Uint8Array;
}
export const Compare: Message<Compare> = message('etcdserverpb.Compare', () => [
  [1, 'result', CompareCompareResult, 'one'],
  [2, 'target', CompareCompareTarget, 'one'],
  [3, 'key', 'bytes', 'one'],
  [4, 'version', 'int64', 'opt'],
  [5, 'createRevision', 'int64', 'opt'],
  [6, 'modRevision', 'int64', 'opt'],
  [7, 'value', 'bytes', 'opt'],
  [8, 'lease', 'int64', 'opt'],
  [64, 'rangeEnd', 'bytes', 'one'],
]);

export type CompareCompareResult = 'EQUAL' | 'GREATER' | 'LESS' | 'NOT_EQUAL';
export const CompareCompareResult = enumType({ EQUAL: 0, GREATER: 1, LESS: 2, NOT_EQUAL: 3 });

export type CompareCompareTarget = 'VERSION' | 'CREATE' | 'MOD' | 'VALUE' | 'LEASE';
export const CompareCompareTarget = enumType({ VERSION: 0, CREATE: 1, MOD: 2, VALUE: 3, LEASE: 4 });

export interface TxnRequest {
  compare: Compare[];
  success: RequestOp[];
  failure: RequestOp[];
}
export const TxnRequest: Message<TxnRequest> = message('etcdserverpb.TxnRequest', () => [
  [1, 'compare', Compare, 'rep'],
  [2, 'success', RequestOp, 'rep'],
  [3, 'failure', RequestOp, 'rep'],
]);

export interface TxnResponse {
  header?: ResponseHeader;
  succeeded: boolean;
  responses: ResponseOp[];
}
export const TxnResponse: Message<TxnResponse> = message('etcdserverpb.TxnResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
  [2, 'succeeded', 'bool', 'one'],
  [3, 'responses', ResponseOp, 'rep'],
]);

export interface CompactionRequest {
  revision: bigint;
  physical: boolean;
}
export const CompactionRequest: Message<CompactionRequest> = message('etcdserverpb.CompactionRequest', () => [
  [1, 'revision', 'int64', 'one'],
  [2, 'physical', 'bool', 'one'],
]);

export interface CompactionResponse {
  header?: ResponseHeader;
}
export const CompactionResponse: Message<CompactionResponse> = message('etcdserverpb.CompactionResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
]);

export interface HashRequest {

}
export const HashRequest: Message<HashRequest> = message('etcdserverpb.HashRequest', () => [

]);

export interface HashKVRequest {
  revision: bigint;
}
export const HashKVRequest: Message<HashKVRequest> = message('etcdserverpb.HashKVRequest', () => [
  [1, 'revision', 'int64', 'one'],
]);

export interface HashKVResponse {
  header?: ResponseHeader;
  hash: number;
  compactRevision: bigint;
  hashRevision: bigint;
}
export const HashKVResponse: Message<HashKVResponse> = message('etcdserverpb.HashKVResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
  [2, 'hash', 'uint32', 'one'],
  [3, 'compactRevision', 'int64', 'one'],
  [4, 'hashRevision', 'int64', 'one'],
]);

export interface HashResponse {
  header?: ResponseHeader;
  hash: number;
}
export const HashResponse: Message<HashResponse> = message('etcdserverpb.HashResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
  [2, 'hash', 'uint32', 'one'],
]);

export interface SnapshotRequest {

}
export const SnapshotRequest: Message<SnapshotRequest> = message('etcdserverpb.SnapshotRequest', () => [

]);

export interface SnapshotResponse {
  header?: ResponseHeader;
  remainingBytes: bigint;
  blob: Uint8Array;
  version: string;
}
export const SnapshotResponse: Message<SnapshotResponse> = message('etcdserverpb.SnapshotResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
  [2, 'remainingBytes', 'uint64', 'one'],
  [3, 'blob', 'bytes', 'one'],
  [4, 'version', 'string', 'one'],
]);

export interface WatchRequest {
  createRequest?: WatchCreateRequest;
  cancelRequest?: WatchCancelRequest;
  progressRequest?: WatchProgressRequest;
}
export const WatchRequest: Message<WatchRequest> = message('etcdserverpb.WatchRequest', () => [
  [1, 'createRequest', WatchCreateRequest, 'opt'],
  [2, 'cancelRequest', WatchCancelRequest, 'opt'],
  [3, 'progressRequest', WatchProgressRequest, 'opt'],
]);

export interface WatchCreateRequest {
  key: Uint8Array;
  rangeEnd: Uint8Array;
  startRevision: bigint;
  progressNotify: boolean;
  filters: WatchCreateRequestFilterType[];
  prevKv: boolean;
  watchId: bigint;
  fragment: boolean;
}
export const WatchCreateRequest: Message<WatchCreateRequest> = message('etcdserverpb.WatchCreateRequest', () => [
  [1, 'key', 'bytes', 'one'],
  [2, 'rangeEnd', 'bytes', 'one'],
  [3, 'startRevision', 'int64', 'one'],
  [4, 'progressNotify', 'bool', 'one'],
  [5, 'filters', WatchCreateRequestFilterType, 'rep'],
  [6, 'prevKv', 'bool', 'one'],
  [7, 'watchId', 'int64', 'one'],
  [8, 'fragment', 'bool', 'one'],
]);

export type WatchCreateRequestFilterType = 'NOPUT' | 'NODELETE';
export const WatchCreateRequestFilterType = enumType({ NOPUT: 0, NODELETE: 1 });

export interface WatchCancelRequest {
  watchId: bigint;
}
export const WatchCancelRequest: Message<WatchCancelRequest> = message('etcdserverpb.WatchCancelRequest', () => [
  [1, 'watchId', 'int64', 'one'],
]);

export interface WatchProgressRequest {

}
export const WatchProgressRequest: Message<WatchProgressRequest> = message('etcdserverpb.WatchProgressRequest', () => [

]);

export interface WatchResponse {
  header?: ResponseHeader;
  watchId: bigint;
  created: boolean;
  canceled: boolean;
  compactRevision: bigint;
  cancelReason: string;
  fragment: boolean;
  events: Event[];
}
export const WatchResponse: Message<WatchResponse> = message('etcdserverpb.WatchResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
  [2, 'watchId', 'int64', 'one'],
  [3, 'created', 'bool', 'one'],
  [4, 'canceled', 'bool', 'one'],
  [5, 'compactRevision', 'int64', 'one'],
  [6, 'cancelReason', 'string', 'one'],
  [7, 'fragment', 'bool', 'one'],
  [11, 'events', Event, 'rep'],
]);

export interface LeaseGrantRequest {
  TTL: bigint;
  ID: bigint;
}
export const LeaseGrantRequest: Message<LeaseGrantRequest> = message('etcdserverpb.LeaseGrantRequest', () => [
  [1, 'TTL', 'int64', 'one'],
  [2, 'ID', 'int64', 'one'],
]);

export interface LeaseGrantResponse {
  header?: ResponseHeader;
  ID: bigint;
  TTL: bigint;
  error: string;
}
export const LeaseGrantResponse: Message<LeaseGrantResponse> = message('etcdserverpb.LeaseGrantResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
  [2, 'ID', 'int64', 'one'],
  [3, 'TTL', 'int64', 'one'],
  [4, 'error', 'string', 'one'],
]);

export interface LeaseRevokeRequest {
  ID: bigint;
}
export const LeaseRevokeRequest: Message<LeaseRevokeRequest> = message('etcdserverpb.LeaseRevokeRequest', () => [
  [1, 'ID', 'int64', 'one'],
]);

export interface LeaseRevokeResponse {
  header?: ResponseHeader;
}
export const LeaseRevokeResponse: Message<LeaseRevokeResponse> = message('etcdserverpb.LeaseRevokeResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
]);

export interface LeaseCheckpoint {
  ID: bigint;
  remainingTTL: bigint;
}
export const LeaseCheckpoint: Message<LeaseCheckpoint> = message('etcdserverpb.LeaseCheckpoint', () => [
  [1, 'ID', 'int64', 'one'],
  [2, 'remainingTTL', 'int64', 'one'],
]);

export interface LeaseCheckpointRequest {
  checkpoints: LeaseCheckpoint[];
}
export const LeaseCheckpointRequest: Message<LeaseCheckpointRequest> = message('etcdserverpb.LeaseCheckpointRequest', () => [
  [1, 'checkpoints', LeaseCheckpoint, 'rep'],
]);

export interface LeaseCheckpointResponse {
  header?: ResponseHeader;
}
export const LeaseCheckpointResponse: Message<LeaseCheckpointResponse> = message('etcdserverpb.LeaseCheckpointResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
]);

export interface LeaseKeepAliveRequest {
  ID: bigint;
}
export const LeaseKeepAliveRequest: Message<LeaseKeepAliveRequest> = message('etcdserverpb.LeaseKeepAliveRequest', () => [
  [1, 'ID', 'int64', 'one'],
]);

export interface LeaseKeepAliveResponse {
  header?: ResponseHeader;
  ID: bigint;
  TTL: bigint;
}
export const LeaseKeepAliveResponse: Message<LeaseKeepAliveResponse> = message('etcdserverpb.LeaseKeepAliveResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
  [2, 'ID', 'int64', 'one'],
  [3, 'TTL', 'int64', 'one'],
]);

export interface LeaseTimeToLiveRequest {
  ID: bigint;
  keys: boolean;
}
export const LeaseTimeToLiveRequest: Message<LeaseTimeToLiveRequest> = message('etcdserverpb.LeaseTimeToLiveRequest', () => [
  [1, 'ID', 'int64', 'one'],
  [2, 'keys', 'bool', 'one'],
]);

export interface LeaseTimeToLiveResponse {
  header?: ResponseHeader;
  ID: bigint;
  TTL: bigint;
  grantedTTL: bigint;
  keys: Uint8Array[];
}
export const LeaseTimeToLiveResponse: Message<LeaseTimeToLiveResponse> = message('etcdserverpb.LeaseTimeToLiveResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
  [2, 'ID', 'int64', 'one'],
  [3, 'TTL', 'int64', 'one'],
  [4, 'grantedTTL', 'int64', 'one'],
  [5, 'keys', 'bytes', 'rep'],
]);

export interface LeaseLeasesRequest {

}
export const LeaseLeasesRequest: Message<LeaseLeasesRequest> = message('etcdserverpb.LeaseLeasesRequest', () => [

]);

export interface LeaseStatus {
  ID: bigint;
}
export const LeaseStatus: Message<LeaseStatus> = message('etcdserverpb.LeaseStatus', () => [
  [1, 'ID', 'int64', 'one'],
]);

export interface LeaseLeasesResponse {
  header?: ResponseHeader;
  leases: LeaseStatus[];
}
export const LeaseLeasesResponse: Message<LeaseLeasesResponse> = message('etcdserverpb.LeaseLeasesResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
  [2, 'leases', LeaseStatus, 'rep'],
]);

export interface Member {
  ID: bigint;
  name: string;
  peerURLs: string[];
  clientURLs: string[];
  isLearner: boolean;
}
export const Member: Message<Member> = message('etcdserverpb.Member', () => [
  [1, 'ID', 'uint64', 'one'],
  [2, 'name', 'string', 'one'],
  [3, 'peerURLs', 'string', 'rep'],
  [4, 'clientURLs', 'string', 'rep'],
  [5, 'isLearner', 'bool', 'one'],
]);

export interface MemberAddRequest {
  peerURLs: string[];
  isLearner: boolean;
}
export const MemberAddRequest: Message<MemberAddRequest> = message('etcdserverpb.MemberAddRequest', () => [
  [1, 'peerURLs', 'string', 'rep'],
  [2, 'isLearner', 'bool', 'one'],
]);

export interface MemberAddResponse {
  header?: ResponseHeader;
  member?: Member;
  members: Member[];
}
export const MemberAddResponse: Message<MemberAddResponse> = message('etcdserverpb.MemberAddResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
  [2, 'member', Member, 'opt'],
  [3, 'members', Member, 'rep'],
]);

export interface MemberRemoveRequest {
  ID: bigint;
}
export const MemberRemoveRequest: Message<MemberRemoveRequest> = message('etcdserverpb.MemberRemoveRequest', () => [
  [1, 'ID', 'uint64', 'one'],
]);

export interface MemberRemoveResponse {
  header?: ResponseHeader;
  members: Member[];
}
export const MemberRemoveResponse: Message<MemberRemoveResponse> = message('etcdserverpb.MemberRemoveResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
  [2, 'members', Member, 'rep'],
]);

export interface MemberUpdateRequest {
  ID: bigint;
  peerURLs: string[];
}
export const MemberUpdateRequest: Message<MemberUpdateRequest> = message('etcdserverpb.MemberUpdateRequest', () => [
  [1, 'ID', 'uint64', 'one'],
  [2, 'peerURLs', 'string', 'rep'],
]);

export interface MemberUpdateResponse {
  header?: ResponseHeader;
  members: Member[];
}
export const MemberUpdateResponse: Message<MemberUpdateResponse> = message('etcdserverpb.MemberUpdateResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
  [2, 'members', Member, 'rep'],
]);

export interface MemberListRequest {
  linearizable: boolean;
}
export const MemberListRequest: Message<MemberListRequest> = message('etcdserverpb.MemberListRequest', () => [
  [1, 'linearizable', 'bool', 'one'],
]);

export interface MemberListResponse {
  header?: ResponseHeader;
  members: Member[];
}
export const MemberListResponse: Message<MemberListResponse> = message('etcdserverpb.MemberListResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
  [2, 'members', Member, 'rep'],
]);

export interface MemberPromoteRequest {
  ID: bigint;
}
export const MemberPromoteRequest: Message<MemberPromoteRequest> = message('etcdserverpb.MemberPromoteRequest', () => [
  [1, 'ID', 'uint64', 'one'],
]);

export interface MemberPromoteResponse {
  header?: ResponseHeader;
  members: Member[];
}
export const MemberPromoteResponse: Message<MemberPromoteResponse> = message('etcdserverpb.MemberPromoteResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
  [2, 'members', Member, 'rep'],
]);

export interface DefragmentRequest {

}
export const DefragmentRequest: Message<DefragmentRequest> = message('etcdserverpb.DefragmentRequest', () => [

]);

export interface DefragmentResponse {
  header?: ResponseHeader;
}
export const DefragmentResponse: Message<DefragmentResponse> = message('etcdserverpb.DefragmentResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
]);

export interface MoveLeaderRequest {
  targetID: bigint;
}
export const MoveLeaderRequest: Message<MoveLeaderRequest> = message('etcdserverpb.MoveLeaderRequest', () => [
  [1, 'targetID', 'uint64', 'one'],
]);

export interface MoveLeaderResponse {
  header?: ResponseHeader;
}
export const MoveLeaderResponse: Message<MoveLeaderResponse> = message('etcdserverpb.MoveLeaderResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
]);

export interface AlarmRequest {
  action: AlarmRequestAlarmAction;
  memberID: bigint;
  alarm: AlarmType;
}
export const AlarmRequest: Message<AlarmRequest> = message('etcdserverpb.AlarmRequest', () => [
  [1, 'action', AlarmRequestAlarmAction, 'one'],
  [2, 'memberID', 'uint64', 'one'],
  [3, 'alarm', AlarmType, 'one'],
]);

export type AlarmRequestAlarmAction = 'GET' | 'ACTIVATE' | 'DEACTIVATE';
export const AlarmRequestAlarmAction = enumType({ GET: 0, ACTIVATE: 1, DEACTIVATE: 2 });

export interface AlarmMember {
  memberID: bigint;
  alarm: AlarmType;
}
export const AlarmMember: Message<AlarmMember> = message('etcdserverpb.AlarmMember', () => [
  [1, 'memberID', 'uint64', 'one'],
  [2, 'alarm', AlarmType, 'one'],
]);

export interface AlarmResponse {
  header?: ResponseHeader;
  alarms: AlarmMember[];
}
export const AlarmResponse: Message<AlarmResponse> = message('etcdserverpb.AlarmResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
  [2, 'alarms', AlarmMember, 'rep'],
]);

export interface DowngradeRequest {
  action: DowngradeRequestDowngradeAction;
  version: string;
}
export const DowngradeRequest: Message<DowngradeRequest> = message('etcdserverpb.DowngradeRequest', () => [
  [1, 'action', DowngradeRequestDowngradeAction, 'one'],
  [2, 'version', 'string', 'one'],
]);

export type DowngradeRequestDowngradeAction = 'VALIDATE' | 'ENABLE' | 'CANCEL';
export const DowngradeRequestDowngradeAction = enumType({ VALIDATE: 0, ENABLE: 1, CANCEL: 2 });

export interface DowngradeResponse {
  header?: ResponseHeader;
  version: string;
}
export const DowngradeResponse: Message<DowngradeResponse> = message('etcdserverpb.DowngradeResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
  [2, 'version', 'string', 'one'],
]);

export interface DowngradeVersionTestRequest {
  ver: string;
}
export const DowngradeVersionTestRequest: Message<DowngradeVersionTestRequest> = message('etcdserverpb.DowngradeVersionTestRequest', () => [
  [1, 'ver', 'string', 'one'],
]);

export interface StatusRequest {

}
export const StatusRequest: Message<StatusRequest> = message('etcdserverpb.StatusRequest', () => [

]);

export interface StatusResponse {
  header?: ResponseHeader;
  version: string;
  dbSize: bigint;
  leader: bigint;
  raftIndex: bigint;
  raftTerm: bigint;
  raftAppliedIndex: bigint;
  errors: string[];
  dbSizeInUse: bigint;
  isLearner: boolean;
  storageVersion: string;
  dbSizeQuota: bigint;
  downgradeInfo?: DowngradeInfo;
}
export const StatusResponse: Message<StatusResponse> = message('etcdserverpb.StatusResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
  [2, 'version', 'string', 'one'],
  [3, 'dbSize', 'int64', 'one'],
  [4, 'leader', 'uint64', 'one'],
  [5, 'raftIndex', 'uint64', 'one'],
  [6, 'raftTerm', 'uint64', 'one'],
  [7, 'raftAppliedIndex', 'uint64', 'one'],
  [8, 'errors', 'string', 'rep'],
  [9, 'dbSizeInUse', 'int64', 'one'],
  [10, 'isLearner', 'bool', 'one'],
  [11, 'storageVersion', 'string', 'one'],
  [12, 'dbSizeQuota', 'int64', 'one'],
  [13, 'downgradeInfo', DowngradeInfo, 'opt'],
]);

export interface DowngradeInfo {
  enabled: boolean;
  targetVersion: string;
}
export const DowngradeInfo: Message<DowngradeInfo> = message('etcdserverpb.DowngradeInfo', () => [
  [1, 'enabled', 'bool', 'one'],
  [2, 'targetVersion', 'string', 'one'],
]);

export interface AuthEnableRequest {

}
export const AuthEnableRequest: Message<AuthEnableRequest> = message('etcdserverpb.AuthEnableRequest', () => [

]);

export interface AuthDisableRequest {

}
export const AuthDisableRequest: Message<AuthDisableRequest> = message('etcdserverpb.AuthDisableRequest', () => [

]);

export interface AuthStatusRequest {

}
export const AuthStatusRequest: Message<AuthStatusRequest> = message('etcdserverpb.AuthStatusRequest', () => [

]);

export interface AuthenticateRequest {
  name: string;
  password: string;
}
export const AuthenticateRequest: Message<AuthenticateRequest> = message('etcdserverpb.AuthenticateRequest', () => [
  [1, 'name', 'string', 'one'],
  [2, 'password', 'string', 'one'],
]);

export interface AuthUserAddRequest {
  name: string;
  password: string;
  options?: UserAddOptions;
  hashedPassword: string;
}
export const AuthUserAddRequest: Message<AuthUserAddRequest> = message('etcdserverpb.AuthUserAddRequest', () => [
  [1, 'name', 'string', 'one'],
  [2, 'password', 'string', 'one'],
  [3, 'options', UserAddOptions, 'opt'],
  [4, 'hashedPassword', 'string', 'one'],
]);

export interface AuthUserGetRequest {
  name: string;
}
export const AuthUserGetRequest: Message<AuthUserGetRequest> = message('etcdserverpb.AuthUserGetRequest', () => [
  [1, 'name', 'string', 'one'],
]);

export interface AuthUserDeleteRequest {
  name: string;
}
export const AuthUserDeleteRequest: Message<AuthUserDeleteRequest> = message('etcdserverpb.AuthUserDeleteRequest', () => [
  [1, 'name', 'string', 'one'],
]);

export interface AuthUserChangePasswordRequest {
  name: string;
  password: string;
  hashedPassword: string;
}
export const AuthUserChangePasswordRequest: Message<AuthUserChangePasswordRequest> = message('etcdserverpb.AuthUserChangePasswordRequest', () => [
  [1, 'name', 'string', 'one'],
  [2, 'password', 'string', 'one'],
  [3, 'hashedPassword', 'string', 'one'],
]);

export interface AuthUserGrantRoleRequest {
  user: string;
  role: string;
}
export const AuthUserGrantRoleRequest: Message<AuthUserGrantRoleRequest> = message('etcdserverpb.AuthUserGrantRoleRequest', () => [
  [1, 'user', 'string', 'one'],
  [2, 'role', 'string', 'one'],
]);

export interface AuthUserRevokeRoleRequest {
  name: string;
  role: string;
}
export const AuthUserRevokeRoleRequest: Message<AuthUserRevokeRoleRequest> = message('etcdserverpb.AuthUserRevokeRoleRequest', () => [
  [1, 'name', 'string', 'one'],
  [2, 'role', 'string', 'one'],
]);

export interface AuthRoleAddRequest {
  name: string;
}
export const AuthRoleAddRequest: Message<AuthRoleAddRequest> = message('etcdserverpb.AuthRoleAddRequest', () => [
  [1, 'name', 'string', 'one'],
]);

export interface AuthRoleGetRequest {
  role: string;
}
export const AuthRoleGetRequest: Message<AuthRoleGetRequest> = message('etcdserverpb.AuthRoleGetRequest', () => [
  [1, 'role', 'string', 'one'],
]);

export interface AuthUserListRequest {

}
export const AuthUserListRequest: Message<AuthUserListRequest> = message('etcdserverpb.AuthUserListRequest', () => [

]);

export interface AuthRoleListRequest {

}
export const AuthRoleListRequest: Message<AuthRoleListRequest> = message('etcdserverpb.AuthRoleListRequest', () => [

]);

export interface AuthRoleDeleteRequest {
  role: string;
}
export const AuthRoleDeleteRequest: Message<AuthRoleDeleteRequest> = message('etcdserverpb.AuthRoleDeleteRequest', () => [
  [1, 'role', 'string', 'one'],
]);

export interface AuthRoleGrantPermissionRequest {
  name: string;
  perm?: Permission;
}
export const AuthRoleGrantPermissionRequest: Message<AuthRoleGrantPermissionRequest> = message('etcdserverpb.AuthRoleGrantPermissionRequest', () => [
  [1, 'name', 'string', 'one'],
  [2, 'perm', Permission, 'opt'],
]);

export interface AuthRoleRevokePermissionRequest {
  role: string;
  key: Uint8Array;
  rangeEnd: Uint8Array;
}
export const AuthRoleRevokePermissionRequest: Message<AuthRoleRevokePermissionRequest> = message('etcdserverpb.AuthRoleRevokePermissionRequest', () => [
  [1, 'role', 'string', 'one'],
  [2, 'key', 'bytes', 'one'],
  [3, 'rangeEnd', 'bytes', 'one'],
]);

export interface AuthEnableResponse {
  header?: ResponseHeader;
}
export const AuthEnableResponse: Message<AuthEnableResponse> = message('etcdserverpb.AuthEnableResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
]);

export interface AuthDisableResponse {
  header?: ResponseHeader;
}
export const AuthDisableResponse: Message<AuthDisableResponse> = message('etcdserverpb.AuthDisableResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
]);

export interface AuthStatusResponse {
  header?: ResponseHeader;
  enabled: boolean;
  authRevision: bigint;
}
export const AuthStatusResponse: Message<AuthStatusResponse> = message('etcdserverpb.AuthStatusResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
  [2, 'enabled', 'bool', 'one'],
  [3, 'authRevision', 'uint64', 'one'],
]);

export interface AuthenticateResponse {
  header?: ResponseHeader;
  token: string;
}
export const AuthenticateResponse: Message<AuthenticateResponse> = message('etcdserverpb.AuthenticateResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
  [2, 'token', 'string', 'one'],
]);

export interface AuthUserAddResponse {
  header?: ResponseHeader;
}
export const AuthUserAddResponse: Message<AuthUserAddResponse> = message('etcdserverpb.AuthUserAddResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
]);

export interface AuthUserGetResponse {
  header?: ResponseHeader;
  roles: string[];
}
export const AuthUserGetResponse: Message<AuthUserGetResponse> = message('etcdserverpb.AuthUserGetResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
  [2, 'roles', 'string', 'rep'],
]);

export interface AuthUserDeleteResponse {
  header?: ResponseHeader;
}
export const AuthUserDeleteResponse: Message<AuthUserDeleteResponse> = message('etcdserverpb.AuthUserDeleteResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
]);

export interface AuthUserChangePasswordResponse {
  header?: ResponseHeader;
}
export const AuthUserChangePasswordResponse: Message<AuthUserChangePasswordResponse> = message('etcdserverpb.AuthUserChangePasswordResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
]);

export interface AuthUserGrantRoleResponse {
  header?: ResponseHeader;
}
export const AuthUserGrantRoleResponse: Message<AuthUserGrantRoleResponse> = message('etcdserverpb.AuthUserGrantRoleResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
]);

export interface AuthUserRevokeRoleResponse {
  header?: ResponseHeader;
}
export const AuthUserRevokeRoleResponse: Message<AuthUserRevokeRoleResponse> = message('etcdserverpb.AuthUserRevokeRoleResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
]);

export interface AuthRoleAddResponse {
  header?: ResponseHeader;
}
export const AuthRoleAddResponse: Message<AuthRoleAddResponse> = message('etcdserverpb.AuthRoleAddResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
]);

export interface AuthRoleGetResponse {
  header?: ResponseHeader;
  perm: Permission[];
}
export const AuthRoleGetResponse: Message<AuthRoleGetResponse> = message('etcdserverpb.AuthRoleGetResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
  [2, 'perm', Permission, 'rep'],
]);

export interface AuthRoleListResponse {
  header?: ResponseHeader;
  roles: string[];
}
export const AuthRoleListResponse: Message<AuthRoleListResponse> = message('etcdserverpb.AuthRoleListResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
  [2, 'roles', 'string', 'rep'],
]);

export interface AuthUserListResponse {
  header?: ResponseHeader;
  users: string[];
}
export const AuthUserListResponse: Message<AuthUserListResponse> = message('etcdserverpb.AuthUserListResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
  [2, 'users', 'string', 'rep'],
]);

export interface AuthRoleDeleteResponse {
  header?: ResponseHeader;
}
export const AuthRoleDeleteResponse: Message<AuthRoleDeleteResponse> = message('etcdserverpb.AuthRoleDeleteResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
]);

export interface AuthRoleGrantPermissionResponse {
  header?: ResponseHeader;
}
export const AuthRoleGrantPermissionResponse: Message<AuthRoleGrantPermissionResponse> = message('etcdserverpb.AuthRoleGrantPermissionResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
]);

export interface AuthRoleRevokePermissionResponse {
  header?: ResponseHeader;
}
export const AuthRoleRevokePermissionResponse: Message<AuthRoleRevokePermissionResponse> = message('etcdserverpb.AuthRoleRevokePermissionResponse', () => [
  [1, 'header', ResponseHeader, 'opt'],
]);

export interface RangeStreamResponse {
  rangeResponse?: RangeResponse;
}
export const RangeStreamResponse: Message<RangeStreamResponse> = message('etcdserverpb.RangeStreamResponse', () => [
  [1, 'rangeResponse', RangeResponse, 'opt'],
]);

export const KV = {
  range: method('/etcdserverpb.KV/Range', RangeRequest, RangeResponse, false, false),
  rangeStream: method('/etcdserverpb.KV/RangeStream', RangeRequest, RangeStreamResponse, false, true),
  put: method('/etcdserverpb.KV/Put', PutRequest, PutResponse, false, false),
  deleteRange: method('/etcdserverpb.KV/DeleteRange', DeleteRangeRequest, DeleteRangeResponse, false, false),
  txn: method('/etcdserverpb.KV/Txn', TxnRequest, TxnResponse, false, false),
  compact: method('/etcdserverpb.KV/Compact', CompactionRequest, CompactionResponse, false, false),
};

export const Watch = {
  watch: method('/etcdserverpb.Watch/Watch', WatchRequest, WatchResponse, true, true),
};

export const Lease = {
  leaseGrant: method('/etcdserverpb.Lease/LeaseGrant', LeaseGrantRequest, LeaseGrantResponse, false, false),
  leaseRevoke: method('/etcdserverpb.Lease/LeaseRevoke', LeaseRevokeRequest, LeaseRevokeResponse, false, false),
  leaseKeepAlive: method('/etcdserverpb.Lease/LeaseKeepAlive', LeaseKeepAliveRequest, LeaseKeepAliveResponse, true, true),
  leaseTimeToLive: method('/etcdserverpb.Lease/LeaseTimeToLive', LeaseTimeToLiveRequest, LeaseTimeToLiveResponse, false, false),
  leaseLeases: method('/etcdserverpb.Lease/LeaseLeases', LeaseLeasesRequest, LeaseLeasesResponse, false, false),
};

export const Cluster = {
  memberAdd: method('/etcdserverpb.Cluster/MemberAdd', MemberAddRequest, MemberAddResponse, false, false),
  memberRemove: method('/etcdserverpb.Cluster/MemberRemove', MemberRemoveRequest, MemberRemoveResponse, false, false),
  memberUpdate: method('/etcdserverpb.Cluster/MemberUpdate', MemberUpdateRequest, MemberUpdateResponse, false, false),
  memberList: method('/etcdserverpb.Cluster/MemberList', MemberListRequest, MemberListResponse, false, false),
  memberPromote: method('/etcdserverpb.Cluster/MemberPromote', MemberPromoteRequest, MemberPromoteResponse, false, false),
};

export const Maintenance = {
  alarm: method('/etcdserverpb.Maintenance/Alarm', AlarmRequest, AlarmResponse, false, false),
  status: method('/etcdserverpb.Maintenance/Status', StatusRequest, StatusResponse, false, false),
  defragment: method('/etcdserverpb.Maintenance/Defragment', DefragmentRequest, DefragmentResponse, false, false),
  hash: method('/etcdserverpb.Maintenance/Hash', HashRequest, HashResponse, false, false),
  hashKV: method('/etcdserverpb.Maintenance/HashKV', HashKVRequest, HashKVResponse, false, false),
  snapshot: method('/etcdserverpb.Maintenance/Snapshot', SnapshotRequest, SnapshotResponse, false, true),
  moveLeader: method('/etcdserverpb.Maintenance/MoveLeader', MoveLeaderRequest, MoveLeaderResponse, false, false),
  downgrade: method('/etcdserverpb.Maintenance/Downgrade', DowngradeRequest, DowngradeResponse, false, false),
};

export const Auth = {
  authEnable: method('/etcdserverpb.Auth/AuthEnable', AuthEnableRequest, AuthEnableResponse, false, false),
  authDisable: method('/etcdserverpb.Auth/AuthDisable', AuthDisableRequest, AuthDisableResponse, false, false),
  authStatus: method('/etcdserverpb.Auth/AuthStatus', AuthStatusRequest, AuthStatusResponse, false, false),
  authenticate: method('/etcdserverpb.Auth/Authenticate', AuthenticateRequest, AuthenticateResponse, false, false),
  userAdd: method('/etcdserverpb.Auth/UserAdd', AuthUserAddRequest, AuthUserAddResponse, false, false),
  userGet: method('/etcdserverpb.Auth/UserGet', AuthUserGetRequest, AuthUserGetResponse, false, false),
  userList: method('/etcdserverpb.Auth/UserList', AuthUserListRequest, AuthUserListResponse, false, false),
  userDelete: method('/etcdserverpb.Auth/UserDelete', AuthUserDeleteRequest, AuthUserDeleteResponse, false, false),
  userChangePassword: method('/etcdserverpb.Auth/UserChangePassword', AuthUserChangePasswordRequest, AuthUserChangePasswordResponse, false, false),
  userGrantRole: method('/etcdserverpb.Auth/UserGrantRole', AuthUserGrantRoleRequest, AuthUserGrantRoleResponse, false, false),
  userRevokeRole: method('/etcdserverpb.Auth/UserRevokeRole', AuthUserRevokeRoleRequest, AuthUserRevokeRoleResponse, false, false),
  roleAdd: method('/etcdserverpb.Auth/RoleAdd', AuthRoleAddRequest, AuthRoleAddResponse, false, false),
  roleGet: method('/etcdserverpb.Auth/RoleGet', AuthRoleGetRequest, AuthRoleGetResponse, false, false),
  roleList: method('/etcdserverpb.Auth/RoleList', AuthRoleListRequest, AuthRoleListResponse, false, false),
  roleDelete: method('/etcdserverpb.Auth/RoleDelete', AuthRoleDeleteRequest, AuthRoleDeleteResponse, false, false),
  roleGrantPermission: method('/etcdserverpb.Auth/RoleGrantPermission', AuthRoleGrantPermissionRequest, AuthRoleGrantPermissionResponse, false, false),
  roleRevokePermission: method('/etcdserverpb.Auth/RoleRevokePermission', AuthRoleRevokePermissionRequest, AuthRoleRevokePermissionResponse, false, false),
};
