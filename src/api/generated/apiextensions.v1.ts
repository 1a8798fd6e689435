// Generated from facts/ by tools/generate; run `npm run generate`.
import type * as meta_v1 from './meta.v1.ts';
import type * as runtime from './runtime.ts';
import type * as types from './types.ts';

export type ConditionStatus = string;

export interface ConversionRequest {
  uid: types.UID;
  desiredAPIVersion: string;
  objects: runtime.RawExtension[];
}

export interface ConversionResponse {
  uid: types.UID;
  convertedObjects: runtime.RawExtension[];
  result: meta_v1.Status;
}

export interface ConversionReview {
  apiVersion: 'apiextensions.k8s.io/v1';
  kind: 'ConversionReview';
  request?: ConversionRequest;
  response?: ConversionResponse;
}

export type ConversionStrategyType = string;

export interface CustomResourceColumnDefinition {
  name: string;
  type: string;
  format?: string;
  description?: string;
  priority?: number;
  jsonPath: string;
}

export interface CustomResourceConversion {
  strategy: ConversionStrategyType;
  webhook?: WebhookConversion;
}

export interface CustomResourceDefinition {
  apiVersion: 'apiextensions.k8s.io/v1';
  kind: 'CustomResourceDefinition';
  metadata: meta_v1.ObjectMeta;
  spec: CustomResourceDefinitionSpec;
  status: CustomResourceDefinitionStatus;
}

export interface CustomResourceDefinitionCondition {
  type: CustomResourceDefinitionConditionType;
  status: ConditionStatus;
  lastTransitionTime?: meta_v1.Time;
  reason?: string;
  message?: string;
  observedGeneration?: number;
}

export type CustomResourceDefinitionConditionType = string;

export interface CustomResourceDefinitionList {
  apiVersion: 'apiextensions.k8s.io/v1';
  kind: 'CustomResourceDefinitionList';
  metadata: meta_v1.ListMeta;
  items: CustomResourceDefinition[];
}

export interface CustomResourceDefinitionNames {
  plural: string;
  singular?: string;
  shortNames?: string[];
  kind: string;
  listKind?: string;
  categories?: string[];
}

export interface CustomResourceDefinitionSpec {
  group: string;
  names: CustomResourceDefinitionNames;
  scope: ResourceScope;
  versions: CustomResourceDefinitionVersion[];
  conversion?: CustomResourceConversion;
  preserveUnknownFields?: boolean;
}

export interface CustomResourceDefinitionStatus {
  conditions: CustomResourceDefinitionCondition[];
  acceptedNames: CustomResourceDefinitionNames;
  storedVersions: string[];
  observedGeneration?: number;
}

export interface CustomResourceDefinitionVersion {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  schema?: CustomResourceValidation;
  subresources?: CustomResourceSubresources;
  additionalPrinterColumns?: CustomResourceColumnDefinition[];
  selectableFields?: SelectableField[];
}

export interface CustomResourceSubresourceScale {
  specReplicasPath: string;
  statusReplicasPath: string;
  labelSelectorPath?: string;
}

export interface CustomResourceSubresourceStatus {

}

export interface CustomResourceSubresources {
  status?: CustomResourceSubresourceStatus;
  scale?: CustomResourceSubresourceScale;
}

export interface CustomResourceValidation {
  openAPIV3Schema?: JSONSchemaProps;
}

export interface ExternalDocumentation {
  description?: string;
  url?: string;
}

export type FieldValueErrorReason = string;

export type JSON = unknown;

export type JSONSchemaDefinitions = Record<string, JSONSchemaProps>;

export type JSONSchemaDependencies = Record<string, JSONSchemaPropsOrStringArray>;

export interface JSONSchemaProps {
  id?: string;
  $schema?: JSONSchemaURL;
  $ref?: string;
  description?: string;
  type?: string;
  format?: string;
  title?: string;
  default?: JSON;
  maximum?: number;
  exclusiveMaximum?: boolean;
  minimum?: number;
  exclusiveMinimum?: boolean;
  maxLength?: number;
  minLength?: number;
  pattern?: string;
  maxItems?: number;
  minItems?: number;
  uniqueItems?: boolean;
  multipleOf?: number;
  enum?: JSON[];
  maxProperties?: number;
  minProperties?: number;
  required?: string[];
  items?: JSONSchemaPropsOrArray;
  allOf?: JSONSchemaProps[];
  oneOf?: JSONSchemaProps[];
  anyOf?: JSONSchemaProps[];
  not?: JSONSchemaProps;
  properties?: Record<string, JSONSchemaProps>;
  additionalProperties?: JSONSchemaPropsOrBool;
  patternProperties?: Record<string, JSONSchemaProps>;
  dependencies?: JSONSchemaDependencies;
  additionalItems?: JSONSchemaPropsOrBool;
  definitions?: JSONSchemaDefinitions;
  externalDocs?: ExternalDocumentation;
  example?: JSON;
  nullable?: boolean;
  "x-kubernetes-preserve-unknown-fields"?: boolean;
  "x-kubernetes-embedded-resource"?: boolean;
  "x-kubernetes-int-or-string"?: boolean;
  "x-kubernetes-list-map-keys"?: string[];
  "x-kubernetes-list-type"?: string;
  "x-kubernetes-map-type"?: string;
  "x-kubernetes-validations"?: ValidationRules;
}

export type JSONSchemaPropsOrArray = JSONSchemaProps | JSONSchemaProps[];

export type JSONSchemaPropsOrBool = JSONSchemaProps | boolean;

export type JSONSchemaPropsOrStringArray = JSONSchemaProps | string[];

export type JSONSchemaURL = string;

export type ResourceScope = string;

export interface SelectableField {
  jsonPath: string;
}

export interface ServiceReference {
  namespace: string;
  name: string;
  path?: string;
  port?: number;
}

export interface ValidationRule {
  rule: string;
  message?: string;
  messageExpression?: string;
  reason?: FieldValueErrorReason;
  fieldPath?: string;
  optionalOldSelf?: boolean;
}

export type ValidationRules = ValidationRule[];

export interface WebhookClientConfig {
  url?: string;
  service?: ServiceReference;
  caBundle?: string;
}

export interface WebhookConversion {
  clientConfig?: WebhookClientConfig;
  conversionReviewVersions: string[];
}
