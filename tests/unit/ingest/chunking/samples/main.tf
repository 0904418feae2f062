# The network of the billing service.
terraform {
  required_version = ">= 1.5"
}

variable "region" {
  type    = string
  default = "eu-central-1"
}

locals {
  name = "billing-${var.region}"
  tags = merge(var.tags, { service = "billing" })
}

# Runs the service.
resource "aws_instance" "billing" {
  ami           = data.aws_ami.debian.id
  instance_type = var.size == "large" ? "m5.large" : "t3.micro"
  tags          = local.tags
}

module "network" {
  source = "./modules/network"
  name   = local.name
}

output "address" {
  value = aws_instance.billing.public_ip
}
